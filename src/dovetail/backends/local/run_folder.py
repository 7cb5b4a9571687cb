"""The run folder of one attempt, as the backend reads and writes it. Its files are listed in the package's docstring.

Guarantees: `look` returns the state of the attempt, whichever process wrote it; only one of `refuse` and a supervisor's
claim succeeds; `end_lost` ends what a killed supervisor left behind. The backend calls all methods on threads.
"""

import contextlib
import json
import os
import signal
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from dovetail.backends.local.supervisor.process_identity import boot_id, started_ticks
from dovetail.backends.local.supervisor.process_tree import ProcessTree, remove_cgroups
from dovetail.backends.local.supervisor.run_files import (
    CLAIM,
    FORCE,
    ORDER,
    RESULT,
    RUNNING,
    STOP,
    publish,
    read_order,
    read_text,
)
from dovetail.backends.local.task_use import MeasuredRun
from dovetail.backends.run_folder import RunFolder

SUPERVISOR_LOG = "supervisor.log"


class RunPhase(StrEnum):
    ABSENT = "absent"  # no order: it was never bound here
    ORDERED = "ordered"  # no claim: nothing was started, and a supervisor may start it
    CLAIMED = "claimed"  # a living supervisor is about to start it
    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"  # its supervisor died and left no result


@dataclass(frozen=True, slots=True)
class RunStatus:
    phase: RunPhase
    exit_code: int | None = None
    reason: str = ""
    refused: bool = False


class LocalRunFolder(RunFolder):
    order_file = ORDER

    def __init__(self, folder: Path, key: str) -> None:
        super().__init__(folder, key)
        self._claim: dict[str, Any] | None = None  # neither changes once it exists
        self._running: dict[str, Any] | None = None

    def look(self) -> RunStatus:
        finished = self._finished()
        if finished:
            return finished
        self._claim = self._claim or self._read(CLAIM)
        if self._claim is None:
            return RunStatus(RunPhase.ORDERED if (self.path / ORDER).exists() else RunPhase.ABSENT)
        if "refused" in self._claim:
            return RunStatus(RunPhase.FINISHED, None, self._claim["refused"], refused=True)
        alive = _lives(self._claim)
        self._running = self._running or self._read(RUNNING)
        if alive:
            return RunStatus(RunPhase.RUNNING if self._running else RunPhase.CLAIMED)
        # Look again: the supervisor may have written the result just before it ended.
        return self._finished() or RunStatus(RunPhase.LOST, None, self._why_lost())

    def end(self) -> RunStatus | None:
        """How it ended; None while it has not."""
        look = self.look()
        return look if look.phase in (RunPhase.FINISHED, RunPhase.LOST) else None

    def measured(self) -> MeasuredRun | None:
        """What its use is measured by; None while it does not run."""
        if self.look().phase is not RunPhase.RUNNING:
            return None
        assert self._claim is not None
        cgroups = tuple(map(Path, read_order(str(self.path)).get("cgroup", [])))
        return MeasuredRun(self.key, cgroups, self._claim.get("pid"))

    def was_started(self) -> bool:
        return (self.path / RUNNING).exists()

    def ended_at(self) -> float | None:
        for name in (RESULT, CLAIM):
            with contextlib.suppress(FileNotFoundError):
                at = (self.path / name).stat().st_mtime
                return at if name == RESULT or self.look().refused else None
        return None

    def order(self, content: bytes) -> None:
        """Write the order, unless it exists."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (self.path / ORDER).exists():
            publish(str(self.path), ORDER, content, durable=False)

    def refuse(self, reason: str) -> bool:
        """Prevent this attempt from ever starting. False: a supervisor or an earlier refusal has claimed it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = json.dumps({"refused": reason}).encode()
        return publish(str(self.path), CLAIM, content, durable=True)

    def stop(self, reason: str, *, force: bool = False) -> None:
        """Prevent its start, or end it. `force`: without grace, also if it was asked to end before."""
        if self.look().phase in (RunPhase.ABSENT, RunPhase.ORDERED) and self.refuse(
            f"stopped before it started: {reason}"
        ):
            return
        if self.look().phase not in (RunPhase.CLAIMED, RunPhase.RUNNING):
            return
        if force:
            publish(str(self.path), FORCE, b"", durable=False)
        publish(str(self.path), STOP, reason.encode("utf-8", "replace"), durable=False)
        assert self._claim is not None
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(self._claim["pid"])  # before checking its identity: pids are reused
            try:
                if _lives(self._claim):
                    signal.pidfd_send_signal(handle, signal.SIGTERM)
            finally:
                os.close(handle)

    def end_lost(self) -> RunStatus:
        """End the processes of a lost attempt, and write its result."""
        look = self.look()
        if look.phase is not RunPhase.LOST:
            return look
        here = self._claim is not None and self._claim.get("boot_id") == boot_id()
        if not self.path.exists():
            return RunStatus(RunPhase.FINISHED, None, "lost: its run folder was removed while it ran")
        if here:
            self._end_init()
            cgroups = read_order(str(self.path)).get("cgroup", [])
            ProcessTree(self._own_group(), cgroups).sweep_up()
            remove_cgroups(cgroups)
        content = json.dumps({"exit_code": None, "reason": look.reason}).encode()
        with contextlib.suppress(OSError):  # a full disk: the next look finds and reports the same
            publish(str(self.path), RESULT, content, durable=True)
        return RunStatus(RunPhase.FINISHED, None, look.reason)

    def supervisor_log(self) -> str:
        """The last line, which is the error message."""
        text = read_text(str(self.path / SUPERVISOR_LOG)) or ""
        return text.strip().rpartition("\n")[2][:500]

    def _finished(self) -> RunStatus | None:
        result = self._read(RESULT)
        return RunStatus(RunPhase.FINISHED, result["exit_code"], result["reason"]) if result else None

    def _why_lost(self) -> str:
        assert self._claim is not None
        if self._claim.get("boot_id") != boot_id():
            return "lost: the machine restarted before it ended"
        if self._running is None and not self.was_started():
            said = self.supervisor_log()
            return f"lost: its supervisor ended before the command was started{': ' + said if said else ''}"
        return "lost: its supervisor was killed, so its exit status is unknown; what was left of the command was ended"

    def _end_init(self) -> None:
        """The first process of its namespace has ended by itself, or is about to; this makes sure."""
        init = (self._read(RUNNING) or {}).get("init")
        if init is not None and _lives(init):
            with contextlib.suppress(ProcessLookupError):
                os.kill(init["pid"], signal.SIGKILL)

    def _own_group(self) -> int | None:
        """The command's process group. None if another process has that pid now: the group is then empty."""
        running = self._read(RUNNING)
        if running is None or running["pid"] <= 1:
            return None
        ticks = started_ticks(running["pid"])
        return int(running["pid"]) if ticks in (None, running["started_ticks"]) else None

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            # Files are published complete, so only a power failure damages one. That it existed is still known.
            return {"exit_code": None, "reason": f"lost: {name} was damaged", "pid": 0}
        return found


def _lives(process: dict[str, Any]) -> bool:
    if process.get("boot_id") != boot_id():
        return False
    ticks = started_ticks(process["pid"])
    return ticks is not None and ticks == process["started_ticks"]
