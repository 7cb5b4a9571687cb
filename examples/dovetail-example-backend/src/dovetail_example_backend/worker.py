"""What runs on each machine: `dovetail-spool-worker FOLDER NODE --cpu 8 --memory 32GiB`.

Takes the orders for its machine, runs them, ends what is to end, and writes down how each ended. It claims an attempt
before it starts anything, and the new process writes down who it is before it becomes the command. What an earlier
worker of this machine claimed, and died before its end, is therefore never started again, and is ended if it runs:
nobody would hear how it ends by itself.
"""

import argparse
import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from dovetail_example_backend.spool import Run

POLL_S = 0.05
# `ln` fails where the file is there already: then a later worker has given the attempt up.
LAUNCH = 'run=$1; shift; printf "{\\"pid\\": $$}" > "$run/.pid"; ln "$run/.pid" "$run/started" && exec "$@"'


class Worker:
    def __init__(self, spool: Path, node: str) -> None:
        self._spool, self._node = spool, node
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._kill_at: dict[str, float] = {}
        self._over: set[str] = set()

    def introduce(self, capacity: dict[str, Any]) -> None:
        (self._spool / "nodes").mkdir(parents=True, exist_ok=True)
        (self._spool / "runs").mkdir(parents=True, exist_ok=True)
        draft = self._spool / "nodes" / f".{self._node}"
        draft.write_text(json.dumps({"name": self._node, "capacity": capacity}))
        draft.rename(self._spool / "nodes" / f"{self._node}.json")

    def look(self) -> None:
        os.utime(self._spool / "nodes" / f"{self._node}.json")
        for path in (self._spool / "runs").iterdir():
            if path.name not in self._over:
                self._attend(Run(self._spool, path.name))

    def _attend(self, run: Run) -> None:
        order = run.order
        if run.end is not None:
            self._over.add(run.key)
        elif run.key in self._children:
            self._follow(run, order["grace_s"])
        elif order is None or order["node"] != self._node:
            return
        elif run.take(self._node):
            self._start(run, order)
        elif run.claim == self._node:
            self._clear_up(run)

    def _start(self, run: Run, order: dict[str, Any]) -> None:
        with (run.path / "output").open("ab") as output:
            child = subprocess.Popen(  # noqa: S603 (running what it is told to is what it is for)
                ["/bin/sh", "-c", LAUNCH, "launch", str(run.path), *order["command"]],
                env={"PATH": os.environ.get("PATH", os.defpath), **order["env"]},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._children[run.key] = child

    def _clear_up(self, run: Run) -> None:
        """An earlier worker took it: end what it may have left, and say that it is over."""
        run.never_begin()
        if (pid := run.started["pid"]) is not None and _belongs_to(pid, run.key):
            _end_group(pid, signal.SIGKILL)
        run.finish(None, run.stop or "lost: the worker of its machine was restarted")

    def _follow(self, run: Run, grace_s: float) -> None:
        child, reason = self._children[run.key], run.stop
        code = child.poll()
        if code is not None:
            del self._children[run.key]
            _end_group(child.pid, signal.SIGKILL)  # what it left behind
            if reason is not None and code < 0:
                run.finish(None, reason)
            else:
                run.finish(128 - code if code < 0 else code, f"signal {-code}" if code < 0 else f"exit status {code}")
        elif reason is not None:
            late = time.monotonic() >= self._kill_at.setdefault(run.key, time.monotonic() + grace_s)
            _end_group(child.pid, signal.SIGKILL if late else signal.SIGTERM)


def _belongs_to(pid: int, key: str) -> bool:
    """Numbers of processes are used again: it is this attempt's only if it says so itself."""
    try:
        found = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    task, _, attempt = key.rpartition(".")
    return {f"DOVETAIL_TASK={task}", f"DOVETAIL_ATTEMPT={attempt}"} <= set(found)


def _end_group(pid: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, how)


def run() -> None:
    parser = argparse.ArgumentParser(description="Runs work from a shared folder on this machine.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("node")
    parser.add_argument("--cpu", default=str(os.cpu_count() or 1))
    parser.add_argument("--memory", default="1GiB")
    given = parser.parse_args()
    worker = Worker(given.folder, given.node)
    worker.introduce({"cpu": given.cpu, "memory": given.memory})
    while True:
        worker.look()
        time.sleep(POLL_S)


if __name__ == "__main__":
    run()
