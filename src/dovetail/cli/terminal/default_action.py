"""Groups of commands, most of them with a default action: `nodes` lists, `nodes NAME` shows.

A name that is also the name of an action needs the action: `nodes show label`.
"""

from typing import Any

import typer
from typer.core import TyperGroup


class DefaultAction(TyperGroup):
    """Runs `list` without arguments or with options only, and `show` (if it exists) for a word that is no action."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # completing: what was typed so far may become anything
            return super().parse_args(ctx, args)
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        elif "show" in self.commands and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["show", *args]
        return super().parse_args(ctx, args)


def default_group(text: str, kind: type[TyperGroup] = DefaultAction) -> typer.Typer:
    return typer.Typer(cls=kind, add_completion=False, rich_markup_mode=None, help=text)


def plain_group(text: str) -> typer.Typer:
    """Without a default action: alone, it prints its help."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help=text)
