"""Every command of `dovetail` with its actions, as the command table has them: what is added there is found here."""

from collections.abc import Iterator

import click

from dovetail.cli.command_table import COMMANDS, load


def every_command() -> dict[str, click.Command]:
    """By the words that call it, such as `nodes label`. Groups are not in it, only what can be run."""
    return {words: one for name in COMMANDS for words, one in _below(name, load(name))}


def _below(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _below(f"{words} {name}", inner)
