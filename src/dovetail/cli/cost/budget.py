"""`dovetail budget`: what the work of a namespace may cost in a month."""

import time
from enum import StrEnum
from typing import Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.options import By
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, check_name, connect

command = default_group("What the work of a namespace may cost in a month; `budget` alone lists budgets.")

NamespaceName = Annotated[str, Argument(metavar="NAMESPACE", callback=check_name, help="The namespace.")]


class LimitAction(StrEnum):
    WARN = "warn"
    REFUSE = "refuse"


@command.action("list")
def list_budgets(output: Output = Format.TABLE, url: Url = None) -> None:
    """Budgets, and how much of each is spent this month. `dovetail budget` does this."""
    with connect(url) as client:
        rows = client.budgets()
    show(rows, output, lambda wide: render.cost.budget_list(rows, time.time(), wide))


@command.action("set")
def set_budget(
    namespace: NamespaceName,
    amount: Annotated[float, Argument(metavar="AMOUNT", help="A month's budget.")],
    currency: Annotated[str, Argument(metavar="CURRENCY", help="As three letters.")] = "USD",
    on_limit: Annotated[
        LimitAction, Option("--on-limit", metavar="WHAT", help="warn, or refuse new work when all is spent.")
    ] = LimitAction.WARN,
    by: By = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Set the budget of a namespace: dovetail budget set team-a 500 USD --on-limit refuse

    Warnings come at 80 % and at 100 %: in `dovetail events`, in the log and in metrics.
    """
    with connect(url) as client:
        row = client.set_budget(namespace, amount, currency.upper(), on_limit=str(on_limit), by=by)
    show(row, output, lambda wide: render.cost.budget_list([row], time.time(), wide))


@command.action("remove")
def remove_budget(namespace: NamespaceName, by: By = "", url: Url = None) -> None:
    """Remove the budget of a namespace."""
    with connect(url) as client:
        client.remove_budget(namespace, by=by)
    click.echo(f"{namespace}: budget removed")
