"""Random requests for as long as the soak says, valid and hostile ones in turn, by several clients at the same time.

Each client has a server of its own: what one makes, another would remove. Generating requests takes longer than
answering them.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.api_fuzzer import ApiFuzzer, FuzzReport, fuzzed_server
from tests.soak.findings import Finding, Part
from tests.soak.memory import MOST_GROWTH_MB_PER_HOUR, growth_mb_per_hour

CLIENTS = 4
ROUND_S = 240.0
HOSTILE_SHARE = 0.08
"""Of the time: breaking a schema takes longer than keeping it."""
JUDGED_AFTER_S = 600.0
"""Memory is judged if there was so much time: before, everything that is kept for a while is still being filled."""
_SEEDS_APART = 100_000


def fuzz(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    part, began, report = Part("fuzz", seed, rounds=1), time.monotonic(), FuzzReport()
    jobs = [(seconds, seed + number * _SEEDS_APART) for number in range(CLIENTS)]
    with multiprocessing.get_context("spawn").Pool(CLIENTS) as pool:
        for found in pool.imap_unordered(run_client, jobs):
            say(f"fuzz: {found.to_dict()}, memory grows by {growth_mb_per_hour(found.memory):.1f} MB an hour")
            report.add(found)
    part.seconds, part.tests = time.monotonic() - began, report.requests
    part.figures = report.to_dict() | {"growth_mb_per_hour": round(growth_mb_per_hour(report.memory), 1)}
    part.findings = findings_of(report, seed, part.seconds)
    return part


def run_client(job: tuple[float, int]) -> FuzzReport:
    (seconds, seed), began = job, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dovetail-fuzz-") as folder, fuzzed_server(Path(folder)) as server:
        fuzzer = ApiFuzzer(server, seed)
        while (left_s := seconds - (time.monotonic() - began)) > 0:
            fuzzer.valid(min(ROUND_S, left_s) * (1 - HOSTILE_SHARE))
            fuzzer.hostile(min(ROUND_S, left_s) * HOSTILE_SHARE)
        if not server.alive:
            fuzzer.report.fail("the server lives", server.log.read_text()[-3000:])
    return fuzzer.report


def findings_of(report: FuzzReport, seed: int, seconds: float) -> list[Finding]:
    found = [Finding(what, seed, f"{times} times, such as\n{says}") for what, (times, says) in report.failures.items()]
    growth = growth_mb_per_hour(report.memory)
    if seconds > JUDGED_AFTER_S and growth > MOST_GROWTH_MB_PER_HOUR:
        found.append(Finding("memory does not grow", seed, f"it grows by {growth:.1f} MB an hour"))
    return found
