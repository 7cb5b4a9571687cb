"""Slurm backends over the cluster that tests share, for both ways of asking it, and ways to make it misbehave.

The commands are misled by shims: programs of the same names, first in the path, that do what the real ones do unless a
test says otherwise.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.contract.backends.conformance import Rig, Subject
from tests.processes import process_lives
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Assignment
from dovetail.backends.slurm.backend import SlurmBackend
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.command import attempt_key
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy

Way = Literal["rest", "tcp", "cli"]
QUICK = {"jobs_interval_s": 0.1, "nodes_interval_s": 0.2, "notice_s": 0.3, "grace_s": 0.5}

SHIM = """\
#!/bin/sh
# While broken, nothing is asked; while cut, the answer is lost; while held, it waits if it is about that key.
[ -e {folder}/broken ] || [ -e {folder}/cut ] || [ -e {folder}/held ] || exec {real} "$@"
if [ -e {folder}/broken ]; then
    echo "$0: error: Unable to contact slurm controller (connect failure)" >&2
    exit 1
fi
answer=$({real} "$@" 2> {folder}/.wrong.$$)
status=$?
about_it() {{ case "$*" in *"$(cat {folder}/held)"*) return 0 ;; *) return 1 ;; esac }}
while [ -e {folder}/held ] && about_it "$@"; do sleep 0.05; done
if [ -e {folder}/cut ]; then
    echo "$0: error: Socket timed out on send/recv operation" >&2
    status=1
else
    cat {folder}/.wrong.$$ >&2
    [ -n "$answer" ] && echo "$answer"
fi
rm -f {folder}/.wrong.$$
exit $status
"""


def settings_for(server: SlurmServer, way: Way, folder: Path, /, **fields: Any) -> SlurmSettings:
    asked: dict[str, Any] = {"conf": str(server.settings), **QUICK}
    if way == "rest":
        asked["url"] = f"unix:{server.socket}"
    elif way == "tcp":
        token = folder / "token"
        token.write_text(f"SLURM_JWT={server.token()}\n")
        asked |= {"url": f"http://127.0.0.1:{server.tcp_port}", "user": "root", "token_file": str(token)}
    return SlurmSettings.model_validate(asked | fields)


def slurm_subject(server: SlurmServer, way: Way, folder: Path, /, **fields: Any) -> Subject:
    settings = settings_for(server, way, folder, **fields)
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

    @asynccontextmanager
    async def cut_off(key: str) -> AsyncIterator[None]:
        node = server.nodes[(folder / "runs" / key / "claim" / "by").read_text().split()[2]]
        node.kill()
        try:
            yield
        finally:
            node.start(ready=lambda: True)

    return Subject(
        backend_factory=lambda: SlurmBackend("slurm", settings, folder / "runs"),
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


@contextmanager
def over_a_bad_network(server: SlurmServer, folder: Path, /, **fields: Any) -> Iterator[Subject]:
    """Asks slurmrestd through a proxy."""
    with LossyProxy(str(server.socket)) as proxy:
        subject = slurm_subject(server, "rest", folder, url=f"unix:{proxy.address}", **fields)
        subject.cut_replies, subject.break_calls = proxy.cut_replies, proxy.break_calls
        subject.hold_reply = proxy.hold_reply
        yield subject


def with_bad_commands(server: SlurmServer, folder: Path, set_path: Callable[[str], None]) -> Subject:
    """Asks with commands that may be misled."""
    shims = folder / "shims"
    shims.mkdir()
    for name in ("sbatch", "scontrol", "scancel", "sacct"):
        (shims / name).write_text(SHIM.format(folder=shims, real=shutil.which(name)))
        (shims / name).chmod(0o755)
    set_path(f"{shims}{os.pathsep}{os.environ['PATH']}")
    subject = slurm_subject(server, "cli", folder)

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
    return subject


def replicas(workload: int, spec: Workload, nodes: dict[int, str]) -> list[Assignment]:
    """Those of them that have a node."""
    tasks = {replica: TaskId(workload, replica) for replica in nodes}
    return [Assignment(attempt_key(task, 1), task, nodes[replica], spec) for replica, task in tasks.items()]


async def bind_all(rig: Rig, works: list[Assignment]) -> None:
    await asyncio.gather(*(rig.backend.bind(work) for work in works))


def shell(script: str, **fields: Any) -> Workload:
    return Workload.model_validate({"name": "work", "run": {"command": ["/bin/sh", "-c", script]}} | fields)
