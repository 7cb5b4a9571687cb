"""`dovetail simulate snapshot`: goes on from a snapshot, with other profiles, nodes, failures and work."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dovetail.cli import render
from dovetail.cli.simulate.change_options import AddNodes, CancelWork, Fail, RemoveNode, changes_of, profile_of
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import read_file
from dovetail.cli.terminal.options import seconds
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.screen import status_line

if TYPE_CHECKING:
    from dovetail.cli.render.simulation import SimulationRun
    from dovetail.simulate.cases import CaseOutcome, SimulationCase
    from dovetail.simulate.ledger import SimulationLedger


def play_snapshot(
    file: Annotated[Path, Argument(metavar="FILE", help="A snapshot: dovetail snapshot -o FILE.")],
    profile: Annotated[
        list[str],
        Option("--profile", "-p", metavar="NAME|FILE", help="Decide by this one; repeat it to compare."),
    ] = [],  # noqa: B006 - the parser wants the default itself and never changes it
    add_nodes: AddNodes = [],  # noqa: B006
    remove_node: RemoveNode = [],  # noqa: B006
    fail: Fail = [],  # noqa: B006
    cancel: CancelWork = [],  # noqa: B006
    work: Annotated[
        list[Path],
        Option(
            "--work", metavar="FILE", help="More work: SWF, openb, Philly, Kubernetes YAML, our history or workloads."
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int, Option(metavar="N", help="Run times that are not known are drawn from it.")] = 0,
    until: Annotated[
        str | None, Option(metavar="DURATION", help="Stop after this virtual time.  [default: 7d]")
    ] = None,
    each: Annotated[bool, Option("--each", help="With -o json or yaml: every workload, too.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Go on from a snapshot on a virtual clock and see what would happen: waits, slowdown, use, fragmentation.

    What runs ends when its run time is over: the one that it declares for simulations, or a guess from what the
    scheduler learned of its owner; services run on. The same file, options and seed always give the same decisions.
    This is what `dovetail simulate FILE` does with a snapshot.
    """
    from dovetail.simulate.cases import CaseFile, SimulationCase

    source = CaseFile(str(file), read_file(file))
    changes = changes_of(add_nodes, remove_node, fail, cancel)
    more = tuple(CaseFile(str(path), read_file(path)) for path in work)
    horizon_s = seconds("--until", until)
    cases = [
        SimulationCase(source, "snapshot", chosen, seed, changes, more, horizon_s, label=label)
        for label, chosen in _profiles(profile)
    ]
    played = [_played(case, each) for case in cases]
    data = {"seed": seed, "runs": [outcome for outcome, _ in played]}
    show(data, output, lambda wide: render.simulation.simulation([run for _, run in played], wide))


def _profiles(given: list[str]) -> list[tuple[str, str | dict[str, Any] | None]]:
    return [(Path(text).stem, profile_of(text)) for text in dict.fromkeys(given)] if given else [("", None)]


def _played(case: "SimulationCase", each: bool) -> "tuple[CaseOutcome, SimulationRun]":
    from pydantic import ValidationError

    from dovetail.model.text.validation_errors import faults_in_words
    from dovetail.simulate.cases import outcome_of_case, simulation_of
    from dovetail.simulate.changes import ClusterChanges
    from dovetail.simulate.replay import Unplayable

    with status_line(case.name) as say_how_far:

        def tell(now: float, ledger: "SimulationLedger") -> None:
            say_how_far(f"{case.name}: {render.simulation.progress(now, ledger)}")

        try:
            simulation, profile = simulation_of(case)
            found = simulation.run(tell)
        except Unplayable as error:
            raise Failure(str(error), ExitCode.USAGE) from None
        except ValidationError as error:
            raise Failure(faults_in_words(error, ClusterChanges), ExitCode.USAGE) from None
    outcome = outcome_of_case(case, profile, found, every_workload=each)
    return outcome, render.simulation.SimulationRun(outcome["label"], found, measured=True)
