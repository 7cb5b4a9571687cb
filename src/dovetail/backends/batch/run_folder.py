"""The run folder of one attempt, as the backend reads and writes it. Its files are listed in the package's docstring.

Files are written under another name and renamed, so they are always complete. All methods block: the backend calls
them on threads.
"""

import contextlib
import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from dovetail.backends.batch.ends import End, How, Result
from dovetail.backends.batch.gang_start import GangFolder, GangProgress
from dovetail.backends.batch.record import JobId
from dovetail.backends.run_folder import RunFolder
from dovetail.model.command import GangStart
from dovetail.model.failure_cause import FailureCause
from dovetail.model.resources import Amounts

ORDER, STOP, CLAIM, RESULT, END = "order.json", "stop", "claim", "result", "end.json"


@dataclass(frozen=True, slots=True)
class JobOrder:
    """What was submitted. `job` None: the id is not known yet. `asked`: the task's resource request."""

    node: str
    asked: Amounts
    job: int | None = None
    element: int | None = None  # if the job is an array
    gang: GangStart | None = None

    @property
    def batch_job(self) -> JobId | None:
        return None if self.job is None else JobId(self.job, self.element)

    def as_job(self, job: JobId) -> "JobOrder":
        return replace(self, job=job.id, element=job.element)


@dataclass(frozen=True, slots=True)
class RunClaim:
    """The job whose script starts the command, and in which run. `job` None: the claim is not readable yet."""

    job: JobId | None = None
    restarts: int = 0
    node: str = ""


@dataclass(frozen=True, slots=True)
class JobRunStatus:
    order: JobOrder | None = None
    stop_reason: str | None = None
    claim: RunClaim | None = None
    result: Result | None = None
    end: End | None = None
    gang: GangProgress | None = None

    @property
    def has_begun(self) -> bool:
        """Its command was started, or is about to be: a script that waits for its gang looks every second."""
        return self.claim is not None and (self.gang is None or self.gang.started)

    @property
    def broken_start(self) -> str | None:
        """Why it never begins: its gang does not."""
        return None if self.gang is None else self.gang.broken

    @property
    def job(self) -> JobId | None:
        return None if self.order is None else self.order.batch_job

    @property
    def known(self) -> bool:
        return self.order is not None or self.end is not None or self.stop_reason is not None


class JobRunFolder(RunFolder):
    order_file = ORDER

    def look(self, *, certain: bool = False) -> JobRunStatus:
        """Reads the end first, and the result before the claim: a later file is never seen without an earlier one.

        `certain`: bypass the cache of a network file system, which may remember for a while that a file does not
        exist. A write to the folder makes it ask the server again.
        """
        if certain:
            with contextlib.suppress(OSError):
                mark = self.path / f".look.{os.getpid()}"
                mark.touch()
                mark.unlink()
        end, result = self._json(END), self._text(RESULT)
        order = self._order()
        return JobRunStatus(
            order=order,
            stop_reason=self._text(STOP),
            claim=self._claim(),
            result=_result(result) if result else None,
            end=_end(end) if end else None,
            gang=GangFolder(self.path.parent, order.gang).progress() if order and order.gang else None,
        )

    def order(self, order: JobOrder) -> None:
        self._write(ORDER, json.dumps(asdict(order)))
        if order.gang is not None:
            GangFolder(self.path.parent, order.gang).create()

    def stop(self, reason: str) -> None:
        """It must not start, or must end. The first reason stays. A gang that has not started will not."""
        self._break_start(reason)
        if self._text(STOP) is None:
            self._write(STOP, reason)

    def end(self, end: End) -> None:
        self._break_start(end.reason)
        self._write(END, json.dumps(asdict(end)))

    def _break_start(self, why: str) -> None:
        order = self._order()
        if order is not None and order.gang is not None:
            GangFolder(self.path.parent, order.gang).break_start(f"task {self.task.replica}: {why}")

    def ended_at(self) -> float | None:
        try:
            return (self.path / END).stat().st_mtime
        except OSError:
            return None

    def _order(self) -> JobOrder | None:
        order = self._json(ORDER)
        if not order:
            return None
        gang = order.get("gang")
        start = GangStart(gang["id"], gang["tasks"]) if gang else None
        return JobOrder(order["node"], order["asked"], order["job"], order.get("element"), start)

    def _claim(self) -> RunClaim | None:
        by = self._text(f"{CLAIM}/by")
        if by is None:
            return RunClaim() if (self.path / CLAIM).exists() else None
        number, restarts, node, element = (*by.split(), "", "", "", "")[:4]
        job = JobId(int(number), int(element) if element.isdigit() else None) if number.isdigit() else None
        return RunClaim(job, int(restarts) if restarts.isdigit() else 0, node)

    def _text(self, name: str) -> str | None:
        try:
            return (self.path / name).read_text(errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _json(self, name: str) -> dict[str, Any] | None:
        text = self._text(name)
        try:
            return dict(json.loads(text)) if text is not None else None
        except ValueError:  # only a power failure damages one; that it existed is still known
            damaged: dict[str, dict[str, Any]] = {
                ORDER: {"node": "", "asked": {}, "job": None},
                END: {"exit_code": None, "reason": f"lost: {name} was damaged"},
            }
            return damaged[name]

    def _write(self, name: str, text: str) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self.path / f".{name}.{os.getpid()}"
        try:
            with beside.open("w", encoding="utf-8", errors="replace") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path / name)
        finally:
            beside.unlink(missing_ok=True)


def _end(said: dict[str, Any]) -> End:
    return End(**said | {"cause": FailureCause(said.get("cause", FailureCause.UNKNOWN))})


def _result(text: str) -> Result:
    code, _, how = text.partition(" ")
    return Result(int(code) if code.isdigit() else 0, How(how) if how in set(How) else How.ENDED)
