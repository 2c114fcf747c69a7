"""The commands, a module for each group: verb to its function and its help, and to the meanings of its arguments by name."""

from foretrain.commands import networks, registry, runs, studies

COMMANDS = studies.COMMANDS | runs.COMMANDS | networks.COMMANDS | registry.COMMANDS
ARGUMENTS = studies.ARGUMENTS | runs.ARGUMENTS | networks.ARGUMENTS | registry.ARGUMENTS
