"""The commands, a module for each group; a verb is its function, its help, and the meanings of its arguments by name."""

from foretrain.commands import networks, registry, runs, studies

COMMANDS = studies.COMMANDS | runs.COMMANDS | networks.COMMANDS | registry.COMMANDS
