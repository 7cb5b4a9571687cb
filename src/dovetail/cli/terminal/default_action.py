"""Groups of commands, most of them with a default action: `nodes` lists, `nodes NAME` shows.

A name that is also the name of an action needs the action: `nodes show label`.
"""

from typing import TYPE_CHECKING

import click

from dovetail.cli.terminal.commands import CommandGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class DefaultAction(CommandGroup):
    """Runs `list` without arguments or with options only; for a word that is no action `show`, if that takes a name."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Actions, and what `show` takes."""
        found = super().shell_complete(ctx, incomplete)
        named = self._named_by_show(ctx)
        return found if named is None else [*found, *named.shell_complete(ctx, incomplete)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # completing: what was typed so far may become anything
            return super().parse_args(ctx, args)
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        elif not args[0].startswith("-") and not self.has_action(args[0]) and self._named_by_show(ctx) is not None:
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def _named_by_show(self, ctx: click.Context) -> click.Argument | None:
        """What `show` takes; None where it takes nothing, so that a word that is no action is a mistake."""
        action = self.get_command(ctx, "show") if self.has_action("show") else None
        return next((part for part in action.params if isinstance(part, click.Argument)), None) if action else None


def default_group(text: str, kind: type[CommandGroup] = DefaultAction) -> CommandGroup:
    return kind(text)


def plain_group(text: str) -> CommandGroup:
    """Without a default action: alone, it prints its help."""
    return CommandGroup(text)
