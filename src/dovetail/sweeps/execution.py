"""Running the cases of a sweep: one after the other, on all cores, or on a Dask cluster.

Guarantees: all three give the same figures, since a case is a pure function of itself and its source. Cases come back
in the order in which they end. If the caller stops asking, what has not begun is not run.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from dovetail import __version__
from dovetail.simulate.run_figures import RunFigures
from dovetail.sweeps.cases import SweepCase, SweepSource, run_case

CONNECT_S = 10.0

Results = Iterator[tuple[SweepCase, RunFigures]]
#: Of one source, some of its cases.
Execution = Callable[[SweepSource, Sequence[SweepCase]], Results]


class NoCluster(Exception):
    """The Dask cluster cannot be used: says why, and what to do."""


def serial(source: SweepSource, cases: Sequence[SweepCase]) -> Results:
    for case in cases:
        yield case, run_case(case, source)


def on_cores(cores: int) -> Execution:
    """In so many processes."""

    def run(source: SweepSource, cases: Sequence[SweepCase]) -> Results:
        # A fresh process each: threads of this one would not survive a fork.
        context = get_context("spawn")
        workers = max(1, min(cores, len(cases)))
        with ProcessPoolExecutor(workers, context, initializer=_keep_source, initargs=(source,)) as pool:
            running: dict[Future[RunFigures], SweepCase] = {pool.submit(_run_here, case): case for case in cases}
            try:
                for future in as_completed(running):
                    yield running[future], future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    return run


def available_cores() -> int:
    """Those this process may use, not those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_source: SweepSource | None = None  # of a process of the pool


def _keep_source(source: SweepSource) -> None:
    global _source
    _source = source


def _run_here(case: SweepCase) -> RunFigures:
    assert _source is not None
    return run_case(case, _source)


def on_dask(address: str) -> Execution:
    """On the workers of a Dask scheduler. Raises NoCluster."""
    try:
        from distributed import Client
        from distributed import as_completed as as_completed_there
    except ImportError:
        raise NoCluster("the package distributed is missing; install dovetail-scheduler[dask]") from None

    def run(source: SweepSource, cases: Sequence[SweepCase]) -> Results:
        try:
            client: Any = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise NoCluster(f"no Dask scheduler answers at {address}: {error}") from None
        with client:
            _check_workers(client, address)
            there = client.scatter(source, broadcast=True)
            futures = {
                client.submit(run_case, case, there, key=f"dovetail-{case.key}", pure=False): case for case in cases
            }
            for future in as_completed_there(list(futures), loop=client.loop):
                yield futures[future], future.result()
                future.release()

    return run


def _check_workers(client: Any, address: str) -> None:
    """Other versions might give other figures."""
    try:
        versions: dict[str, str] = client.run(_version)
    except ModuleNotFoundError:
        raise NoCluster(
            f"workers of {address} have no Dovetail; install dovetail-scheduler {__version__} there"
        ) from None
    if not versions:
        raise NoCluster(f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}")
    for worker, version in versions.items():
        if version != __version__:
            raise NoCluster(f"worker {worker} has Dovetail {version}, this is {__version__}; install the same version")


def _version() -> str:
    from dovetail import __version__ as here

    return here
