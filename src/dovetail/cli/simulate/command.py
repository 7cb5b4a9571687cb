"""`dovetail simulate`: work on a virtual cluster, placed by the same engine that `serve` runs.

`simulate FILE` is short for `simulate scenario FILE` or, for a file that begins like a snapshot, for `simulate snapshot
FILE`; `simulate swf FILE` replays a batch log. A file that is named like an action needs the long form.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli import render
from dovetail.cli.simulate.playing import play_snapshot
from dovetail.cli.simulate.swf import swf
from dovetail.cli.terminal.commands import CommandGroup
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import Files, read_file
from dovetail.cli.terminal.options import seconds
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.screen import status_line
from dovetail.cli.workloads.submission import read_submission

if TYPE_CHECKING:
    from dovetail.cli.render.simulation import SimulationRun
    from dovetail.simulate.ledger import SimulationLedger
    from dovetail.simulate.scenario import Scenario


HEAD_BYTES = 65536


class ScenarioUnlessNamed(CommandGroup):
    """Arguments that do not begin with the name of an action are those of `scenario`, or of `snapshot`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args and (self.has_action(args[0]) or args[0] in ctx.help_option_names)
        if not named and not ctx.resilient_parsing:  # completing: what was typed so far may become anything
            args = ["snapshot" if _names_a_snapshot(args) else "scenario", *args]
        return super().parse_args(ctx, args)


def _names_a_snapshot(args: list[str]) -> bool:
    """The first word that is a file begins like one."""
    for word in args:
        if not word.startswith("-") and (path := Path(word)).is_file():
            from dovetail.snapshots.file import is_snapshot

            with path.open("rb") as file:
                return is_snapshot(file.read(HEAD_BYTES))
    return False


command = default_group(
    "Replay a scenario, go on from a snapshot (`simulate FILE`), or replay a batch log (`simulate swf FILE`).",
    ScenarioUnlessNamed,
)


@command.action("scenario")
def scenario_command(
    scenario: Annotated[
        Path | None, Argument(metavar="SCENARIO", help="A scenario file: cluster, work, events, settings.")
    ] = None,
    file: Files = [],  # noqa: B006 - the parser wants the default itself and never changes it
    cluster: Annotated[
        Path | None, Option(metavar="FILE", help="The cluster for -f: groups, leaf_spine or nodes.")
    ] = None,
    profile: Annotated[
        list[str], Option("--profile", "-p", metavar="NAME", help="Decide by this one; repeat it to compare.")
    ] = [],  # noqa: B006
    seed: Annotated[int | None, Option(metavar="N", help="Another seed than the scenario's.")] = None,
    until: Annotated[str | None, Option(metavar="DURATION", help="Stop after this virtual time: 2h.")] = None,
    each: Annotated[bool, Option("--each", help="With -o json or yaml: every workload, too.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Replay work on a virtual cluster and see how long it waits and how well it fills the machines.

    Either a SCENARIO file, or workloads (-f) on a cluster (--cluster). The same file and seed always give the same
    decisions. Profiles given here replace the default one; a workload that names its own keeps it. This is what
    `dovetail simulate SCENARIO` does.
    """
    played = _scenario(scenario, file, cluster, until)
    profiles = list(dict.fromkeys(profile)) or [played.settings.default_profile]
    chosen_seed = played.seed if seed is None else seed
    runs = [_run(played, name, chosen_seed) for name in profiles]
    data = {
        "seed": chosen_seed,
        "runs": [{"profile": run.profile, **run.outcome.to_dict(every_workload=each)} for run in runs],
    }
    show(data, output, lambda wide: render.simulation.simulation(runs, wide))


command.action("swf")(swf)
command.action("snapshot")(play_snapshot)


def _scenario(scenario: Path | None, file: list[str], cluster: Path | None, until: str | None) -> "Scenario":
    from dovetail.simulate.scenario import read_cluster, read_scenario, scenario_of

    horizon_s = seconds("--until", until)
    if scenario is not None:
        if file or cluster is not None:
            raise Failure("give a SCENARIO, or -f with --cluster, not both", ExitCode.USAGE)
        return read_scenario(read_file(scenario), str(scenario), horizon_s)
    if not file or cluster is None:
        raise Failure("say what to play: a SCENARIO file, or -f WORKLOADS with --cluster FILE", ExitCode.USAGE)
    work = read_submission(file)
    return scenario_of(work.workloads, read_cluster(read_file(cluster), str(cluster)), horizon_s)


def _run(scenario: "Scenario", profile: str, seed: int) -> "SimulationRun":
    from dovetail.simulate.replay import Simulation, Unplayable

    with status_line(profile) as say_how_far:

        def tell(now: float, ledger: "SimulationLedger") -> None:
            say_how_far(f"{profile}: {render.simulation.progress(now, ledger)}")

        try:
            return render.simulation.SimulationRun(profile, Simulation.of(scenario, seed, profile).run(tell))
        except Unplayable as error:
            raise Failure(str(error), ExitCode.USAGE) from None
