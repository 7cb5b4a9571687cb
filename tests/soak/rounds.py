"""Random tests of the suite in rounds: many more examples than `make test` tries, with another seed in each round.

A round is one run of pytest with the profile `soak` (`tests/examples.py`). The first round has the seed of the soak,
each further one the next number, so that any round can be repeated as the first of a soak. Time that runs out in the
middle of a round ends it; tests that were done by then count.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.examples import SOAK, SOAK_SEED
from tests.soak.findings import Finding, Part

ROOT = Path(__file__).parents[2]
KUBERNETES_SEED = "DOVETAIL_KUBERNETES_SEED"
TEST_TIMEOUT_S = 3600
"""Of one test: it tries many times what a quick run does."""
_GRACE_S = 60.0
_CONTRACT = "tests/contract/kubernetes"

SELECTIONS: Mapping[str, Sequence[str]] = {
    "properties": ["tests/property"],
    "units": ["tests/unit", "-m", "hypothesis"],
    "simulation": ["tests/simulation"],
    "docker-over-ssh": ["tests/contract/backends/docker/test_docker_over_ssh.py"],
    "kubernetes-random": [
        f"{_CONTRACT}/test_agrees_with_kube_scheduler.py",
        f"{_CONTRACT}/test_preempts_like_kube_scheduler.py",
        f"{_CONTRACT}/test_kill_storm.py",
        f"{_CONTRACT}/test_kill_devices.py",
        "tests/e2e/test_kubernetes_pods_survive_kill.py",
    ],
}


def run_rounds(name: str, seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    part, began = Part(name, seed), time.monotonic()
    while (left_s := seconds - (time.monotonic() - began)) > 0:
        round_seed = seed + part.rounds
        say(f"{name}: round {part.rounds + 1}, seed {round_seed}, {left_s / 60:.1f} minutes left")
        ran, skipped, findings = _round(SELECTIONS[name], left_s, round_seed)
        part.rounds += 1
        part.tests += ran
        part.findings += findings
        for finding in findings:
            say(f"{name}: {finding.where} fails with seed {round_seed}")
        if not ran:  # the next round would do no more
            if part.rounds == 1:
                part.not_run = skipped or "its time was over before a test had ended; give it more minutes"
            break
    part.seconds = time.monotonic() - began
    return part


def _round(selection: Sequence[str], seconds: float, seed: int) -> tuple[int, str, list[Finding]]:
    """How many tests ran, why the others did not, and what failed."""
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        results = Path(folder) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
        command += [f"--hypothesis-profile={SOAK}", f"--hypothesis-seed={seed}", f"--junitxml={results}"]
        command += ["-o", f"timeout={TEST_TIMEOUT_S}", *selection]
        environment = {**os.environ, SOAK_SEED: str(seed), KUBERNETES_SEED: str(seed)}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if not results.exists():
            return 0, "", []
        return read_results(results, seed)


def read_results(results: Path, seed: int) -> tuple[int, str, list[Finding]]:
    """From the file that pytest writes for CI servers."""
    ran, skipped, findings = 0, "", []
    for case in ET.parse(results).iter("testcase"):
        missing = case.find("skipped")
        if missing is not None:
            skipped = missing.get("message") or "skipped"
            continue
        ran += 1
        for kind in ("failure", "error"):
            if (found := case.find(kind)) is not None:
                where = f"{case.get('classname')}::{case.get('name')}"
                findings.append(Finding(where, seed, found.text or found.get("message") or ""))
    return ran, skipped, findings
