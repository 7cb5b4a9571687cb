"""What tests of batch backends share: attempts that leave a trace, and commands that can be misled.

The commands are misled by shims: programs of the same names, first in the path, that do what the real ones do unless a
test says otherwise.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.contract.backends.conformance import Rig, Subject
from tests.processes import process_lives

from dovetail.backends.contract import Assignment, Backend
from dovetail.model.command import attempt_key
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

QUICK = {"jobs_interval_s": 0.1, "nodes_interval_s": 0.2, "notice_s": 0.3, "grace_s": 0.5}
#: Where each question is a process or two, of which some take as long as the shortest interval.
QUICK_BY_COMMANDS = QUICK | {"jobs_interval_s": 0.3, "nodes_interval_s": 0.6}
CutOff = Callable[[str], AbstractAsyncContextManager[None]]

SHIM = """\
#!/bin/sh
# While broken, nothing is asked; while cut, the answer is lost; while held, it waits if it is about that key.
[ -e {folder}/broken ] || [ -e {folder}/cut ] || [ -e {folder}/held ] || exec {real} "$@"
if [ -e {folder}/broken ]; then
    echo "$0: {unreachable}" >&2
    exit 1
fi
answer=$({real} "$@" 2> {folder}/.wrong.$$)
status=$?
about_it() {{ case "$*" in *"$(cat {folder}/held)"*) return 0 ;; *) return 1 ;; esac }}
while [ -e {folder}/held ] && about_it "$@"; do sleep 0.05; done
if [ -e {folder}/cut ]; then
    echo "$0: {lost}" >&2
    status=1
else
    cat {folder}/.wrong.$$ >&2
    [ -n "$answer" ] && echo "$answer"
fi
rm -f {folder}/.wrong.$$
exit $status
"""


def batch_subject(factory: Callable[[], Backend], folder: Path, cut_off: CutOff) -> Subject:
    """Every attempt writes its key to `starts` and the pid of its command to `<key>.pid`, both in the folder."""
    starts = folder / "starts"

    def workload(run_s: float, exit_code: int, text: str) -> Workload:
        script = (
            f"key=$DOVETAIL_TASK.$DOVETAIL_ATTEMPT; echo $key >> {starts}; echo $$ > {folder}/$key.pid; "
            f'printf %s "$0"; sleep {run_s}; exit {exit_code}'
        )
        return Workload.model_validate({"name": "work", "run": {"command": ["/bin/sh", "-c", script, text]}})

    def runs_now(key: str) -> bool:
        pid = folder / f"{key}.pid"
        return pid.exists() and process_lives(int(pid.read_text()))

    return Subject(
        backend_factory=factory,
        workload=workload,
        unrunnable=[
            Workload.model_validate({"name": "empty"}),
            Workload.model_validate({"name": "image", "run": {"image": "busybox:1", "command": ["true"]}}),
            Workload.model_validate({"name": "machine", "kind": "vm", "run": {"command": ["true"]}}),
            Workload.model_validate({"name": "share", "run": {"command": ["true"]}, "resources": {"gpu": 0.5}}),
            Workload.model_validate({"name": "huge", "run": {"command": ["true"]}, "resources": {"cpu": 1000}}),
            Workload.model_validate({"name": "vast", "run": {"command": ["true"]}, "resources": {"memory": "100TiB"}}),
        ],
        times_run=lambda key: starts.read_text().split().count(key) if starts.exists() else 0,
        runs_now=runs_now,
        cut_off=cut_off,
    )


def mislead(
    subject: Subject,
    folder: Path,
    names: Sequence[str],
    set_path: Callable[[str], None],
    *,
    unreachable: str,
    lost: str,
    path: str | None = None,
) -> None:
    """Put shims before these commands, which are found in `path`. `unreachable`, `lost`: what commands say when the
    system cannot be reached, and when its answer is lost."""
    path = path or os.environ["PATH"]
    shims = folder / "shims"
    shims.mkdir()
    for name in names:
        real = shutil.which(name, path=path)
        (shims / name).write_text(SHIM.format(folder=shims, real=real, unreachable=unreachable, lost=lost))
        (shims / name).chmod(0o755)
    set_path(f"{shims}{os.pathsep}{path}")

    @asynccontextmanager
    async def while_there(name: str, text: str = "") -> AsyncIterator[None]:
        (shims / name).write_text(text)
        try:
            yield
        finally:
            (shims / name).unlink()

    subject.cut_replies = lambda: while_there("cut")
    subject.break_calls = lambda: while_there("broken")
    subject.hold_reply = lambda key: while_there("held", key)


def replicas(workload: int, spec: Workload, nodes: dict[int, str]) -> list[Assignment]:
    """Those of them that have a node."""
    tasks = {replica: TaskId(workload, replica) for replica in nodes}
    return [Assignment(attempt_key(task, 1), task, nodes[replica], spec) for replica, task in tasks.items()]


async def bind_all(rig: Rig, works: list[Assignment]) -> None:
    await asyncio.gather(*(rig.backend.bind(work) for work in works))


def shell(script: str, **fields: Any) -> Workload:
    return Workload.model_validate({"name": "work", "run": {"command": ["/bin/sh", "-c", script]}} | fields)
