"""`dovetail kubernetes`: commands for Kubernetes; `check` compares our verdicts with those of kube-scheduler."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli.kubernetes.extender import extender
from dovetail.cli.kubernetes.scheduler import scheduler
from dovetail.cli.terminal.default_action import plain_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.screen import status_line
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.kubernetes.checking.check import AgreementCount, CheckReport

command = plain_group(
    "Schedule pods of Kubernetes (`scheduler`), extend kube-scheduler (`extender`), compare verdicts (`check`)."
)


command.action("scheduler")(scheduler)
command.action("extender")(extender)


@command.action("check")
def check_file(
    file: Annotated[
        Path, Argument(metavar="FILE", help="Scenarios with kube-scheduler's verdicts: JSON lines, or .gz.")
    ],
    as_json: Annotated[bool, Option("--json", help="Print everything as one JSON document.")] = False,
    limit: Annotated[int | None, Option(metavar="N", min=1, help="Only so many scenarios.")] = None,
) -> None:
    """Replay recorded scenarios through the adapter and the engine, and compare.

    One line for each disagreement, then a summary by plugin. Exit status 1 if there is any.
    """
    import json
    from itertools import islice

    from dovetail.kubernetes.checking.check import CheckReport, check
    from dovetail.kubernetes.checking.recorded_scenario import BadScenario, read_scenarios

    report, unlike = CheckReport(), []
    try:
        with status_line("no scenario yet") as tell:
            for scenario in islice(read_scenarios(file), limit):
                for found in check(scenario, report):
                    unlike.append(found)
                    if not as_json:
                        click.echo(str(found))
                tell(f"{count(report.scenarios, 'scenario')}, {count(len(unlike), 'disagreement')}")
    except OSError as error:
        raise Failure(f"{file}: cannot be read: {error.strerror or error}", ExitCode.USAGE) from None
    except BadScenario as error:
        raise Failure(str(error), ExitCode.USAGE) from None
    if as_json:
        click.echo(json.dumps(report.to_dict() | {"lines": [one.to_dict() for one in unlike]}, indent=2))
    else:
        click.echo(_summary(report))
    if not report.agrees:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _summary(report: "CheckReport") -> str:
    """A table by plugin of kube-scheduler, and the three figures that count."""
    rows = [(plugin or "(may go there)", tally) for plugin, tally in report.plugins()]
    width = max([len(name) for name, _ in rows], default=0)
    lines = [f"{name.ljust(width)}  {tally.agreed:>6} of {tally.compared:<6} {_percent(tally)}" for name, tally in rows]
    victims = f"the same victims in {report.same_victims}"
    return "\n".join(
        [
            count(report.scenarios, "scenario"),
            "",
            *lines,
            "",
            f"Feasible nodes agree on {_words(report.feasible, 'pairs of pod and node')}.",
            f"Whether eviction could help agrees on {_words(report.eviction, 'refused pairs')}.",
            f"Where it nominates a node, so do we, and no worse, in {_words(report.nominated, 'cases')}; {victims}.",
        ]
    )


def _words(tally: "AgreementCount", what: str) -> str:
    return f"{tally.agreed} of {tally.compared} {what} ({_percent(tally)})"


def _percent(tally: "AgreementCount") -> str:
    """Never 100 unless it is all of them."""
    share = tally.share * 100
    return f"{min(share, 99.99) if tally.agreed < tally.compared else share:.2f} %"
