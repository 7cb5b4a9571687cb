"""The parsers under Atheris, where it is installed (`tests/fuzz/coverage_guided.py`)."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.coverage_guided import chosen, is_installed
from tests.fuzz.targets import TARGETS
from tests.soak.findings import Finding, Part

ROOT = Path(__file__).parents[2]
_RUNS = re.compile(r"Done (\d+) runs")
_COUNTED = re.compile(r"^#(\d+)\s", re.MULTILINE)
_START_S = 300.0
"""Until the code is loaded and instrumented, on a busy machine."""


def parsers(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    part, began = Part("parsers", seed), time.monotonic()
    if not is_installed():
        part.not_run = "atheris is not installed; pip install atheris, where it has a wheel for this Python"
        return part
    with tempfile.TemporaryDirectory(prefix="dovetail-parsers-") as folder:
        command = [sys.executable, "-m", "tests.fuzz.coverage_guided", str(max(1, round(seconds)))]
        command += [str(seed + 1), folder]  # 0 would stand for a random one
        ended = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + _START_S, check=False
        )
        inputs = [path.read_bytes() for path in Path(folder).glob("found-*")]
    counts = _RUNS.findall(ended.stderr) or _COUNTED.findall(ended.stderr)
    part.tests, part.rounds, part.seconds = int(counts[-1]) if counts else 0, 1, time.monotonic() - began
    if ended.returncode:
        where = chosen(TARGETS, inputs[0]) if inputs and inputs[0] else "the parsers"
        says = f"{ended.stderr[-3000:]}\n{ended.stdout[-3000:]}\ninput: {inputs}"
        part.findings.append(Finding(where, seed, says))
    say(f"parsers: {part.tests} inputs for {len(TARGETS)} parsers")
    return part
