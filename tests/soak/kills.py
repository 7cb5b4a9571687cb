"""Servers under load that are struck by faults again and again (`tests/e2e/kills`), for as long as the soak says.

A round has so many faults on one server and one database, and ends with an audit. The next one starts anew. What a
round leaves in which something was wrong is kept in build/kills-SEED.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.kills.harness import KillReport, KillRun
from tests.servers.leftovers import remove_folder
from tests.soak.findings import Finding, Part

FAULTS_A_ROUND = 100
PAUSE_S = 0.05
KEPT = Path("build")
_AUDIT_S = 15.0


def run_kills(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    part, all_rounds, ends_at = Part("kills", seed), KillReport(seed), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="dovetail-kills-state-") as state:
        os.environ["XDG_STATE_HOME"] = state  # servers note themselves there
        while part.rounds == 0 or time.monotonic() + _AUDIT_S < ends_at:
            report = _round(seed + part.rounds, ends_at - _AUDIT_S)
            part.rounds += 1
            part.tests += report.faults.total()
            part.findings += [Finding("the audit after faults", report.seed, words) for words in report.wrong]
            all_rounds.add(report)
            say(f"kills: round {part.rounds}: {report}")
    say(f"kills: in all: {all_rounds}")
    part.seconds, part.figures = all_rounds.seconds, all_rounds.to_dict()
    return part


def _round(seed: int, ends_at: float) -> KillReport:
    folder = Path(tempfile.mkdtemp(prefix="dovetail-kills-", dir=_memory()))
    run = KillRun(folder, seed, PAUSE_S, keep=KEPT / f"kills-{seed}")
    try:
        return run.run(lambda report: report.faults.total() >= FAULTS_A_ROUND or time.monotonic() > ends_at)
    except AssertionError as error:  # it did not serve again, or did not come to an end
        run.report.wrong.append(str(error))
        return run.report
    finally:
        remove_folder(folder)


def _memory() -> str | None:
    """Where a write waits for no disk: what is killed are processes, never the machine."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
