"""Servers under load that are struck by faults again and again (`tests/e2e/kills`), for as long as the soak says.

Two rounds run at a time. Each has so many faults on one server and one database, and ends with an audit. If something
was wrong, everything that the round left is kept in build/kills-SEED.
"""

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.e2e.kills.harness import KillReport, KillRun
from tests.servers.leftovers import remove_folder
from tests.soak.findings import Finding, Part

AT_ONCE = 2
FAULTS_A_ROUND = 100
PAUSE_S = 0.05
KEPT = Path("build")
_AUDIT_S = 15.0


def run_kills(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    part, all_rounds, began = Part("kills", seed), KillReport(seed), time.monotonic()
    faults_until = began + max(0.0, seconds - _AUDIT_S)
    with _notes_elsewhere(), ThreadPoolExecutor(AT_ONCE) as pool:
        seeds = itertools.count(seed)
        running = {pool.submit(_round, next(seeds), faults_until) for _ in range(AT_ONCE)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for report in (one.result() for one in done):
                part.rounds += 1
                part.tests += report.faults.total()
                part.findings += [Finding("the audit after faults", report.seed, words) for words in report.wrong]
                all_rounds.add(report)
                say(f"kills: round {part.rounds}: {report}")
                if time.monotonic() < faults_until:
                    running.add(pool.submit(_round, next(seeds), faults_until))
    part.seconds = all_rounds.seconds = time.monotonic() - began
    say(f"kills: in all: {all_rounds}")
    part.figures = all_rounds.to_dict()
    return part


@contextmanager
def _notes_elsewhere() -> Iterator[None]:
    """Servers note themselves where their account looks for them; these do not belong there."""
    with (
        tempfile.TemporaryDirectory(prefix="dovetail-kills-state-") as folder,
        patch.dict(os.environ, XDG_STATE_HOME=folder),
    ):
        yield


def _round(seed: int, faults_until: float) -> KillReport:
    folder = Path(tempfile.mkdtemp(prefix="dovetail-kills-", dir=_memory()))
    run = KillRun(folder, seed, PAUSE_S, keep=KEPT / f"kills-{seed}")
    try:
        return run.run(lambda report: report.faults.total() >= FAULTS_A_ROUND or time.monotonic() > faults_until)
    except AssertionError as error:  # it did not serve again, or did not come to an end
        run.report.wrong.append(str(error))
        return run.report
    finally:
        remove_folder(folder)


def _memory() -> str | None:
    """Where a write waits for no disk: what is killed are processes, never the machine."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
