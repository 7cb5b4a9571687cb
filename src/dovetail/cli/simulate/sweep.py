"""`dovetail sweep`: every combination of profiles, weights, values and seeds, on all cores or a Dask cluster."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.simulate.report_file import ReportFile, write_report
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import read_file
from dovetail.cli.terminal.output import Format, Output, say, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.screen import status_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dovetail.reports.comparison import ReportRun
    from dovetail.simulate.run_figures import RunFigures
    from dovetail.sweeps.cases import SweepCase, SweepSource
    from dovetail.sweeps.definition import Sweep
    from dovetail.sweeps.execution import Execution


def sweep(
    file: Annotated[Path, Argument(metavar="FILE", help="A sweep file: source, profiles, weights, grid, seeds.")],
    results: Annotated[
        Path | None, Option(metavar="DIR", help="Keep results here.  [default: FILE without .yaml, with .results]")
    ] = None,
    cores: Annotated[
        int | None, Option(metavar="N", min=1, help="Use so many processes.  [default: all cores]")
    ] = None,
    dask: Annotated[str | None, Option(metavar="ADDRESS", help="Run on this Dask scheduler: tcp://host:8786.")] = None,
    report: ReportFile = None,
    output: Output = Format.TABLE,
) -> None:
    """Simulate every combination of a sweep file and compare the variants, with confidence over seeds.

    Results are kept as they come: a sweep that was stopped goes on where it was. All ways to run it give the same
    figures, whether on one core, on several or on a Dask cluster.
    """
    from dovetail.reports.comparison import ReportRun, compare
    from dovetail.reports.sentences import answer
    from dovetail.sweeps.cases import cases_of
    from dovetail.sweeps.definition import read_sweep

    if cores is not None and dask is not None:
        raise Failure("give --cores or --dask, not both: the workers of a Dask cluster have their own", ExitCode.USAGE)
    wanted, document = read_sweep(read_file(file), str(file))
    source = _source(wanted, file)
    cases = cases_of(wanted, document, source)
    found = _run(source, cases, results or file.with_suffix(".results"), _execution(cores, dask))
    runs = [ReportRun(case.variant, case.seed, found[case.key]) for case in cases]
    comparison = compare(runs)
    data = {
        "source": source.name,
        "cases": len(cases),
        "answer": answer(comparison),
        **comparison.to_dict(),
        "runs": [{"variant": r.variant, "seed": r.seed, "digest": r.figures["digest"], **_numbers(r)} for r in runs],
    }
    show(data, output, lambda wide: render.sweeps.sweep(comparison, _about(source, cases), wide))
    if report is not None:
        write_report(report, f"Sweep {file.name}", runs, f"{Path(source.name).name}.")


def _numbers(run: "ReportRun") -> dict[str, dict[str, float | None]]:
    return {"numbers": run.figures["numbers"]}


def _about(source: "SweepSource", cases: "Sequence[SweepCase]") -> str:
    variants, seeds = len({case.variant for case in cases}), len({case.seed for case in cases})
    return f"{Path(source.name).name}: {len(cases)} cases, {variants} variants with {seeds} seeds each"


def _source(wanted: "Sweep", file: Path) -> "SweepSource":
    from dovetail.sweeps.cases import SweepSource

    files = {"scenario": wanted.source.scenario, "snapshot": wanted.source.snapshot, "swf": wanted.source.swf}
    [(kind, named)] = [(kind, named) for kind, named in files.items() if named is not None]
    path = file.parent / named
    return SweepSource(kind, str(path), read_file(path))


def _execution(cores: int | None, dask: str | None) -> "Execution":
    from dovetail.sweeps.execution import NoCluster, available_cores, on_cores, on_dask, serial

    if dask is not None:
        try:
            return on_dask(dask)
        except NoCluster as error:
            raise Failure(f"--dask: {error}", ExitCode.UNREACHABLE) from None
    many = cores or available_cores()
    return serial if many == 1 else on_cores(many)


def _run(
    source: "SweepSource", cases: "Sequence[SweepCase]", folder: Path, execution: "Execution"
) -> "dict[str, RunFigures]":
    """By key. Those that were run before are not run again."""
    from dovetail.simulate.replay import Unplayable
    from dovetail.sweeps.execution import NoCluster
    from dovetail.sweeps.results import ResultFolder

    try:
        kept = ResultFolder(folder)
        found = kept.done(cases)
        open_cases = [case for case in cases if case.key not in found]
        if found:
            say(f"{len(found)} of {len(cases)} cases were run before; their results are in {folder}")
        if not open_cases:
            return found
        with _progress(len(cases), len(found)) as tell:
            for case, figures in execution(source, open_cases):
                kept.keep(case, figures)
                found[case.key] = figures
                tell(len(found))
    except OSError as error:
        raise Failure(f"--results: {folder} cannot be written: {error.strerror or error}", ExitCode.USAGE) from None
    except NoCluster as error:
        raise Failure(f"--dask: {error}", ExitCode.UNREACHABLE) from None
    except Unplayable as error:
        raise Failure(str(error), ExitCode.USAGE) from None
    return found


@contextmanager
def _progress(cases: int, before: int) -> "Iterator[Callable[[int], None]]":
    """A bar on stderr, with the time that is left at the pace so far."""
    began = time.monotonic()
    with status_line(render.sweeps.progress(before, cases, None)) as say_how_far:

        def tell(done: int) -> None:
            pace_s = (time.monotonic() - began) / (done - before)
            say_how_far(render.sweeps.progress(done, cases, pace_s * (cases - done)))

        yield tell
