"""`DovetailExecutor`: functions run as tasks of a server, as `concurrent.futures` runs them in processes.

    with DovetailExecutor(resources={"cpu": 1}) as executor:
        print(list(executor.map(math.factorial, range(10))))

Each call is a workload with one task. Calls and their outcomes are files in a folder that this program and the nodes
share; for the local backend any folder will do. Functions, arguments and results are pickled, so a function has to be
importable, or defined at the top of the script.

Guarantees: those of `concurrent.futures.Executor`. A future that is cancelled before its task began cancels the
workload. An exception of the function is raised by `Future.result`, with the traceback of the task as its cause. A task
that ended without an outcome (killed, lost, out of memory) raises `CallFailed`. One thread submits and watches.
"""

import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dovetail.client.client import Client
from dovetail.client.errors import ConnectError, DovetailError
from dovetail.client.functions import remote_call
from dovetail.model.backoff import Backoff

if TYPE_CHECKING:
    from dovetail.responses.workloads import WorkloadRow

P = ParamSpec("P")
T = TypeVar("T")

BATCH = 500  # calls in one submission, and workloads in one page
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
_LOG_BYTES = 2000


class CallFailed(Exception):
    """The task of a call ended without an outcome: it was killed, lost or could not be started."""


class RemoteTraceback(Exception):
    """Where the function raised, in the task."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(slots=True)
class _Call:
    name: str
    file: Path
    future: "Future[Any]"
    id: int = 0
    runs: bool | None = None  # None: nobody has told the future yet whether it begins; False: it was cancelled before

    def begin(self) -> bool:
        """Tells the future that its task begins, once. False if it was cancelled before."""
        if self.runs is None:
            self.runs = self.future.set_running_or_notify_cancel()
        return self.runs


class DovetailExecutor(Executor):
    """`fields` are those of a workload: `resources`, `namespace`, `priority`, `retries`, … The nodes see `folder` under
    the same path, and `python` is an interpreter there. `client`: a server, by default that of `Client()`."""

    def __init__(
        self,
        client: Client | None = None,
        *,
        folder: str | Path | None = None,
        python: str = sys.executable,
        name: str = "call",
        **fields: Any,
    ) -> None:
        self._client = client or Client()
        self._owns_client = client is None
        self._folder = Path(tempfile.mkdtemp(prefix="dovetail-calls-", dir=folder)).resolve()
        self._folder.chmod(remote_call.FOLDER_MODE)
        self._python = python
        self._prefix = f"{name}-{uuid.uuid4().hex[:8]}"
        self._fields = fields
        self._number = 0
        self._new: list[_Call] = []
        self._open: dict[int, _Call] = {}
        self._closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._number += 1
            name = f"{self._prefix}-{self._number}"
            call = _Call(name, self._folder / f"{uuid.uuid4().hex}.call", future)
            try:
                remote_call.write_call(call.file, fn, args, kwargs)
            except Exception as error:
                future.set_exception(error)
                return future
            self._new.append(call)
            future.add_done_callback(self._wake)  # so that the server hears of a cancelled one at once
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="dovetail-executor", daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._changed:
            self._closed = True
            calls = [*self._new, *self._open.values()] if cancel_futures else []
            self._changed.notify()
        for call in calls:
            call.future.cancel()
        if self._thread is None:
            self._tidy()
        elif wait:
            self._thread.join()

    def _wake(self, _: "Future[Any]") -> None:
        if threading.current_thread() is not self._thread:
            with self._changed:
                self._changed.notify()

    # --- the thread ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S, factor=1.5)
        while True:
            with self._changed:
                if not (self._new or self._open):
                    if self._closed:
                        break
                    self._changed.wait()
                new, self._new = self._new[:BATCH], self._new[BATCH:]
                self._open.update((id(call), call) for call in new)
            try:
                if self._submit(new) + self._cancel() + self._look():
                    backoff.reset()
            except ConnectError:
                pass  # the work goes on without us; the server is asked again
            except Exception as error:
                if not (isinstance(error, DovetailError) and error.status >= 500):
                    self._give_up(error)
            with self._changed:
                if not self._new and self._open:
                    self._changed.wait(backoff.next_s())
        self._tidy()

    def _submit(self, calls: list[_Call]) -> int:
        """Submits those that nobody has cancelled meanwhile, all at once."""
        wanted = [call for call in calls if not call.future.cancelled()]
        for call in calls:
            if call.future.cancelled():
                self._end(call)
        if wanted:
            try:
                accepted = self._client.submit([self._workload(call) for call in wanted])
            except (ConnectError, DovetailError) as error:
                for call in wanted:
                    self._end(call, error)
                return 0
            for call, one in zip(wanted, accepted, strict=True):
                call.id = one["id"]
        return len(wanted)

    def _workload(self, call: _Call) -> dict[str, Any]:
        run: Mapping[str, Any] = self._fields.get("run", {})
        env = {**run.get("env", {}), remote_call.VARIABLE: str(call.file)}
        command = [self._python, "-P", remote_call.__file__]
        return {**self._fields, "name": call.name, "run": {**run, "env": env, "command": command}}

    def _cancel(self) -> int:
        told = 0
        for call in self._open.values():
            if call.runs is None and call.future.cancelled():
                call.begin()
                told += 1
                with suppress(DovetailError):  # it has just ended
                    self._client.cancel(call.id, reason="its future was cancelled")
        return told

    def _look(self) -> int:
        """Takes in what has begun or ended. Returns how many have ended."""
        before = list(self._open.values())
        rows = self._unfinished()
        ended = 0
        for call in before:
            row = rows.get(call.name)
            if row is None:
                self._finish(call)
                ended += 1
            elif row["active"]:
                call.begin()
        return ended

    def _unfinished(self) -> "dict[str, WorkloadRow]":
        found: dict[str, WorkloadRow] = {}
        cursor: str | None = None
        while True:
            page = self._client.workloads(
                namespace=self._fields.get("namespace"), name=self._prefix, unfinished=True, limit=BATCH, cursor=cursor
            )
            found.update((row["name"], row) for row in page["items"])
            cursor = page["cursor"]
            if cursor is None:
                return found

    def _finish(self, call: _Call) -> None:
        """Its workload has ended."""
        try:
            outcome = remote_call.read_outcome(call.file)
        except Exception as error:
            self._end(call, CallFailed(f"the outcome of {call.name} cannot be read: {error}"))
            return
        if outcome is None:
            self._end(call, CallFailed(self._why(call)))
        elif outcome.error is not None:
            outcome.error.__cause__ = RemoteTraceback(outcome.trace)
            self._end(call, outcome.error)
        else:
            self._end(call, value=outcome.value)

    def _why(self, call: _Call) -> str:
        """Why a task ended without an outcome, as far as the server knows."""
        words = f"{call.name} ended without an outcome"
        with suppress(DovetailError):
            row = self._client.workload(call.id)
            words = f"{call.name} {row['state']}: {row['message'] or row['reason']}"
            if text := self._client.logs(call.id, limit=_LOG_BYTES).text.strip():
                words += f"\nIts output:\n{text}"
        return words

    def _end(self, call: _Call, error: BaseException | None = None, value: object = None) -> None:
        self._open.pop(id(call), None)
        for file in (call.file, remote_call.outcome_file(call.file)):
            file.unlink(missing_ok=True)
        if not call.begin():
            return
        if error is not None:
            call.future.set_exception(error)
        else:
            call.future.set_result(value)

    def _give_up(self, error: BaseException) -> None:
        for call in list(self._open.values()):
            self._end(call, error)

    def _tidy(self) -> None:
        with suppress(OSError):
            self._folder.rmdir()
        if self._owns_client:
            self._client.close()
