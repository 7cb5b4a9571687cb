"""The example of a stranger's backend keeps the promises of every backend: found through the entry point of its own
pyproject.toml, built by the registry from settings, with its own worker running real commands."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.local.rig import marked, runs_now
from tests.processes import process_lives

from dovetail.backends import registry
from dovetail.backends.contract import Backend
from dovetail.control.settings import load_settings
from dovetail.model.event import TaskStarted
from dovetail.model.workloads.workload import Workload
from dovetail.testing.conformance import PATIENCE_S, BackendConformance, Subject, run_async, started

EXAMPLE = Path(__file__).parents[3] / "examples" / "dovetail-example-backend"
NODE = "lab-1"


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As `pip install` would leave it, for the length of a test."""
    project: dict[str, Any] = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "installed" / "dovetail_example_backend-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["dovetail.backends"].items()
    (info / "entry_points.txt").write_text("[dovetail.backends]\n" + "".join(f"{k} = {v}\n" for k, v in points))
    for folder in (info.parent, EXAMPLE / "src"):
        monkeypatch.syspath_prepend(str(folder))
    registry.offered.cache_clear()
    yield
    monkeypatch.undo()
    registry.offered.cache_clear()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with running_worker(tmp_path / "spool") as process:
        yield process


@contextmanager
def running_worker(spool: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The example's worker, as it would run on a machine of the lab."""
    program = [sys.executable, "-m", "dovetail_example_backend.worker", str(spool), NODE]
    process = subprocess.Popen(program, env={**os.environ, "PYTHONPATH": str(EXAMPLE / "src")})
    until = time.monotonic() + PATIENCE_S
    while not (spool / "nodes" / f"{NODE}.json").exists():
        assert time.monotonic() < until, "the worker did not start"
        time.sleep(0.01)
    yield process
    process.kill()
    process.wait()
    for begun in (spool / "runs").glob("*/started"):
        pid = json.loads(begun.read_text())["pid"]
        if pid is not None and process_lives(pid):
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def _build(folder: Path) -> Backend:
    entry = registry.BackendEntry.of("spool", folder=str(folder), poll="20ms")
    return registry.build("lab", entry, folder.parent)


class TestExampleBackend(BackendConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path, worker: subprocess.Popen[bytes]) -> Subject:
        starts = tmp_path / "starts"

        def workload(run_s: float, exit_code: int, text: str) -> Workload:
            note = f"echo $DOVETAIL_TASK.$DOVETAIL_ATTEMPT >> {starts}"
            script = f'{note}; printf %s "$0"; sleep {run_s}; exit {exit_code}'
            run = {"command": ["/bin/sh", "-c", script, text], "env": marked(tmp_path)}
            return Workload.model_validate({"name": "work", "run": run})

        @asynccontextmanager
        async def frozen(_key: str = "") -> AsyncIterator[None]:
            worker.send_signal(signal.SIGSTOP)
            yield
            worker.send_signal(signal.SIGCONT)

        @asynccontextmanager
        async def moved_away() -> AsyncIterator[None]:
            async with frozen():
                (tmp_path / "spool").rename(tmp_path / "elsewhere")
                yield
                (tmp_path / "elsewhere").rename(tmp_path / "spool")

        return Subject(
            backend_factory=lambda: _build(tmp_path / "spool"),
            workload=workload,
            unrunnable=[
                Workload.model_validate({"name": "empty"}),
                Workload.model_validate({"name": "image", "run": {"image": "busybox:1", "command": ["true"]}}),
                Workload.model_validate({"name": "machine", "kind": "vm", "run": {"command": ["true"]}}),
            ],
            times_run=lambda key: starts.read_text().split().count(key) if starts.exists() else 0,
            runs_now=lambda key: runs_now(tmp_path, key),
            cut_replies=frozen,
            break_calls=moved_away,
            cut_off=frozen,
        )


def test_a_worker_that_was_killed_ends_what_it_left_and_starts_nothing_again(tmp_path: Path) -> None:
    work = Workload.model_validate({"name": "work", "run": {"command": ["sleep", "3600"], "env": marked(tmp_path)}})
    with running_worker(tmp_path / "spool") as first:
        subject = Subject(lambda: _build(tmp_path / "spool"), lambda *_: work)

        async def scene() -> None:
            async with started(subject) as rig:
                assignment = rig.work(1)
                await rig.backend.bind(assignment)
                await rig.reports.until(TaskStarted, assignment.key)
                first.kill()
                first.wait()
                assert runs_now(tmp_path, assignment.key)
                with running_worker(tmp_path / "spool"):
                    finished = await rig.finished(assignment.key)
                assert finished.exit_code is None
                assert "restarted" in finished.reason
                await rig.reports.until_true(lambda: not runs_now(tmp_path, assignment.key), "the end of what was left")

        run_async(scene)


def test_its_settings_file_is_valid() -> None:
    entry = load_settings(EXAMPLE / "dovetail.yaml", {}).backends["lab"]
    assert (entry.kind, entry.model_dump(mode="json")["folder"]) == ("spool", "/srv/spool")


def test_an_unknown_kind_is_told_of_those_that_packages_offer() -> None:
    with pytest.raises(ValueError, match=r"kind 'spol' is not accepted\. Did you mean 'spool'\?"):
        registry.BackendEntry.of("spol", folder="/srv/spool")


def test_the_settings_of_a_strangers_kind_are_checked_like_any_others() -> None:
    with pytest.raises(ValueError, match=r"unknown field 'foldr'\. Did you mean 'folder'"):
        registry.BackendEntry.of("spool", foldr="/srv/spool")
