"""The commands, given their parsed arguments; each returns the exit code."""

from foretrain.commands import registry, studies

COMMANDS = studies.COMMANDS | registry.COMMANDS
