"""`dovetail simulate swf`: a batch log (Standard Workload Format) replayed by the engine under several policies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.simulate.report_file import ReportFile, write_report
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import read_file
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.screen import status_line
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dovetail.simulate.comparison import BatchRun
    from dovetail.simulate.policies import Backfill, BatchPolicy
    from dovetail.simulate.swf import BatchJob, BatchLog

SEQUENCES, LENGTH, SEED = 10, 1024, 1  # as in the published comparisons


def swf(
    file: Annotated[Path, Argument(metavar="FILE", help="A log of the Parallel Workloads Archive: .swf or .gz.")],
    policy: Annotated[
        list[str],
        Option("--policy", metavar="NAME", help="Who goes next; repeat it to compare.  [default: dovetail and fcfs]"),
    ] = [],  # noqa: B006 - the parser wants the default itself and never changes it
    backfill: Annotated[
        list[str],
        Option("--backfill", metavar="HOW", help="none, easy or conservative; repeatable.  [default: easy]"),
    ] = [],  # noqa: B006
    sequences: Annotated[
        int | None, Option(metavar="N", min=1, help=f"How many sequences are drawn.  [default: {SEQUENCES}]")
    ] = None,
    length: Annotated[
        int | None, Option(metavar="N", min=1, help=f"Jobs in each of them.  [default: {LENGTH}]")
    ] = None,
    seed: Annotated[int | None, Option(metavar="N", help=f"Draws where they begin.  [default: {SEED}]")] = None,
    whole: Annotated[bool, Option("--whole", help="Play the whole log, once, instead of sequences.")] = False,
    predict: Annotated[bool, Option("--predict", help="Also report how accurate predicted starts were.")] = False,
    report: ReportFile = None,
    output: Output = Format.TABLE,
) -> None:
    """Replay a batch log and compare policies by bounded slowdown.

    Every sequence of jobs starts on an empty machine; processors are the only resource, requested times are known at
    submission and run times only at the end. The same file, policies and seed always give the same figures.
    """
    from dovetail.simulate.comparison import play, yardstick
    from dovetail.simulate.swf import read_swf

    ways = [(one, how) for one in _policies(policy) for how in _backfills(backfill)]
    if whole and (sequences, length, seed) != (None, None, None):
        raise Failure("give --whole, or --sequences, --length and --seed, not both", ExitCode.USAGE)
    log = read_swf(read_file(file), str(file))
    parts = (
        [log.jobs] if whole else _drawn(log, sequences or SEQUENCES, length or LENGTH, SEED if seed is None else seed)
    )
    runs = []
    for one, how in ways:
        with status_line(f"{one.name} {how}") as say_how_far:
            tell = _progress(say_how_far, f"{one.name} {how}", parts)
            runs.append(play(one, how, parts, log.processors, predict=predict, progress=tell))
    fcfs = yardstick(runs)
    data = {
        "log": log.source,
        "processors": log.processors,
        "jobs": len(log.jobs),
        "left_out": log.left_out,
        "sequences": len(parts),
        "length": len(parts[0]),
        "runs": [run.to_dict(fcfs) for run in runs],
    }
    show(data, output, lambda wide: render.batch.comparison(runs, _headline(log, parts, whole), wide))
    if report is not None:
        _write_report(report, runs, log, _headline(log, parts, whole))


def _write_report(path: Path, runs: "list[BatchRun]", log: "BatchLog", about: str) -> None:
    """Every sequence counts as a seed: confidence is over sequences."""
    from dovetail.reports.comparison import ReportRun
    from dovetail.simulate.run_figures import figures_of_batch

    found = [
        ReportRun(f"{run.policy} {run.backfill}", number, figures_of_batch([sequence], log.processors, ""))
        for run in runs
        for number, sequence in enumerate(run.played, start=1)
    ]
    write_report(path, f"Batch log {Path(log.source).name}", found, f"{about}.")


def _policies(names: list[str]) -> "list[BatchPolicy]":
    from dovetail.simulate.policies import DEFAULT_POLICIES, UnknownPolicy, policy_named

    try:
        return [policy_named(name) for name in dict.fromkeys(names or DEFAULT_POLICIES)]
    except UnknownPolicy as error:
        raise Failure(str(error), ExitCode.USAGE) from None


def _backfills(names: list[str]) -> "list[Backfill]":
    from dovetail.simulate.policies import BACKFILLS

    known = {str(name): name for name in BACKFILLS}
    for name in names:
        if name not in known:
            raise Failure(f"--backfill: {name!r} is none of {', '.join(known)}", ExitCode.USAGE)
    return [known[name] for name in dict.fromkeys(names or ["easy"])]


def _drawn(log: "BatchLog", count: int, length: int, seed: int) -> "list[Sequence[BatchJob]]":
    from dovetail.simulate.swf import TooShort, sequences

    try:
        return sequences(log, count, length, seed)
    except TooShort as error:
        raise Failure(f"{log.source}: {error} (--length, --whole)", ExitCode.USAGE) from None


def _headline(log: "BatchLog", parts: "Sequence[Sequence[BatchJob]]", whole: bool) -> str:
    jobs = count(len(log.jobs), "job")
    played = jobs if whole else f"{count(len(parts), 'sequence')} of {len(parts[0])} of {jobs}"
    left = f"; left out {log.left_out} that never ran or asked for more" if log.left_out else ""
    return f"{Path(log.source).name}: {played} on {count(log.processors, 'processor')}{left}"


def _progress(
    say_how_far: "Callable[[str], None]", name: str, parts: "Sequence[Sequence[BatchJob]]"
) -> "Callable[[int, int], None]":
    def tell(number: int, ended: int) -> None:
        of = f"sequence {number} of {len(parts)}, " if len(parts) > 1 else ""
        say_how_far(f"{name}: {of}{ended} of {len(parts[number - 1])} jobs ended")

    return tell
