"""A local backend over a temporary folder, whose work leaves a line in a file each time it is really started."""

import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.contract.backends.conformance import PATIENCE_S, Subject
from tests.processes import process_lives

from dovetail.backends.local.backend import LocalBackend
from dovetail.backends.local.settings import LocalSettings
from dovetail.backends.local.supervisor.run_files import CLAIM, DOORBELL
from dovetail.model.workloads.workload import Workload


def shell(script: str, **fields: Any) -> Workload:
    return Workload.model_validate({"name": "work", "run": {"command": ["/bin/sh", "-c", script]}} | fields)


def local_subject(
    folder: Path, limits: str = "auto", cgroup_parent: str = "dovetail-test", /, **fields: Any
) -> Subject:
    # The user of the tests, who can read and write their folders; `escapes` has the others.
    usual = {"node": "here", "limits": limits, "cgroup_parent": cgroup_parent, "grace_s": "500ms", "run_as": "server"}
    settings = LocalSettings.model_validate(usual | fields)
    starts = folder / "starts"

    def workload(run_s: float, exit_code: int, text: str) -> Workload:
        script = f'echo $DOVETAIL_TASK.$DOVETAIL_ATTEMPT >> {starts}; printf %s "$0"; sleep {run_s}; exit {exit_code}'
        run = {"command": ["/bin/sh", "-c", script, text], "env": marked(folder)}
        return Workload.model_validate({"name": "work", "run": run})

    return Subject(
        backend_factory=lambda: LocalBackend("local", settings, folder / "runs"),
        workload=workload,
        unrunnable=[
            Workload.model_validate({"name": "empty"}),
            Workload.model_validate({"name": "image", "run": {"image": "busybox:1", "command": ["true"]}}),
            Workload.model_validate({"name": "machine", "kind": "vm", "run": {"command": ["true"]}}),
        ],
        times_run=lambda key: starts.read_text().split().count(key) if starts.exists() else 0,
        runs_now=lambda key: runs_now(folder, key),
        cut_replies=lambda: during(moved_away(folder / "runs" / DOORBELL)),
        break_calls=lambda: during(replaced_by_a_file(folder / "runs")),
        cut_off=lambda key: during(without_supervisor(folder / "runs" / key)),
    )


def marked(folder: Path) -> dict[str, str]:
    """The environment by which the processes of one test are known: others on this machine have the same keys."""
    return {"TEST_FOLDER": str(folder)}


def runs_now(folder: Path, key: str) -> bool:
    """Does any process of this test belong to the attempt?"""
    task, _, attempt = key.rpartition(".")
    about = {**marked(folder), "DOVETAIL_TASK": task, "DOVETAIL_ATTEMPT": attempt}
    wanted = {f"{name}={value}".encode() for name, value in about.items()}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if wanted <= set((entry / "environ").read_bytes().split(b"\0")) and process_lives(int(entry.name)):
                    return True
    return False


def lasting(marker: str) -> str:
    """A line of a shell script that does not end by itself, and is found by `process_with`."""
    return f"sh -c 'while :; do sleep 0.05; done' {marker}"


@asynccontextmanager
async def during(what: AbstractContextManager[None]) -> AsyncIterator[None]:
    with what:
        yield


@contextmanager
def moved_away(path: Path) -> Iterator[None]:
    """Of the pipe through which supervisors speak: what they say is heard by nobody."""
    elsewhere = path.with_name(f"{path.name}.away")
    path.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(path)


@contextmanager
def replaced_by_a_file(folder: Path) -> Iterator[None]:
    """The disk with the run folders is gone: whatever is looked for there is an error."""
    with moved_away(folder):
        folder.touch()
        try:
            yield
        finally:
            folder.unlink()


@contextmanager
def without_supervisor(run: Path) -> Iterator[None]:
    """What connects a command with its backend is killed; the command runs on."""
    os.kill(json.loads((run / CLAIM).read_bytes())["pid"], signal.SIGKILL)
    yield


def wait_until(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, f"waited {PATIENCE_S:.0f} s in vain until {what}"
        time.sleep(0.01)


def files_below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))
