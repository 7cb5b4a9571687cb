"""Client methods for workloads after they were submitted: cancel, retry, attach, run commands next to tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote

from dovetail.client.calls.workloads import workload_path
from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.questions import PlannedPreemption
    from dovetail.responses.workload_changes import CancelledWorkloads, RetriedWorkload, StartedCommand, TakenInput
    from dovetail.responses.workloads import AcceptedWorkload


class CommandOutput(NamedTuple):
    """Output from a byte offset. `exit_code` and `error` are of a command that has ended."""

    content: bytes
    next_offset: int
    ended: bool
    exit_code: int | None
    error: str


class WorkloadChangeCalls:
    _http: Transport

    def cancel_selected(
        self,
        *,
        ids: Sequence[int] | None = None,
        namespace: str | None = None,
        match: str | None = None,
        user: str | None = None,
        state: str | None = None,
        queue: str | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        force: bool = False,
    ) -> list[AcceptedWorkload]:
        """Cancel the unfinished workloads for which everything that is given holds; returns them. `match` is a pattern
        of names such as `train-*`. With `dry_run` nothing is cancelled. With `force` running tasks are killed, without
        their grace period."""
        given = {
            "ids": None if ids is None else list(ids),
            "namespace": namespace,
            "match": match,
            "user": user,
            "state": state,
            "queue": queue,
            "reason": reason,
            "force": force or None,
        }
        body = {name: value for name, value in given.items() if value is not None} | {"dry_run": dry_run}
        path = f"{API}/workloads/cancel"
        answer: CancelledWorkloads = self._http.json("POST", path, json=body, repeatable=True)
        return answer["workloads"]

    def retry(self, ref: str | int, namespace: str | None = None, *, reason: str | None = None) -> RetriedWorkload:
        """Let its failed tasks run again."""
        body = {} if reason is None else {"reason": reason}
        path, params = f"{workload_path(ref)}/retry", {"namespace": namespace}
        return cast("RetriedWorkload", self._http.json("POST", path, params=params, json=body))

    def preempt(
        self, ref: str | int, tasks: Sequence[str], namespace: str | None = None, *, dry_run: bool = False
    ) -> PlannedPreemption:
        """Stop these tasks of others for a workload that waits; they wait again. With `dry_run` nothing is stopped: it
        says whom that would disturb."""
        params, body = {"namespace": namespace}, {"tasks": list(tasks), "dry_run": dry_run}
        path = f"{workload_path(ref)}/preempt"
        return cast("PlannedPreemption", self._http.json("POST", path, params=params, json=body))

    def execute(
        self,
        ref: str | int,
        command: Sequence[str],
        namespace: str | None = None,
        *,
        replica: int | None = None,
        stdin: str = "",
        interactive: bool = False,
        terminal: tuple[int, int] | None = None,
    ) -> StartedCommand:
        """Run a command next to a running task. Read its output with `exec_output` until it has ended.

        `stdin`: what it reads. `interactive`: send more with `exec_input`. `terminal`: rows and columns of the terminal
        that it runs in; without one it has none."""
        params = {"namespace": namespace, "replica": replica}
        body: dict[str, Any] = {"command": list(command), "stdin": stdin}
        if interactive:
            body["interactive"] = True
        if terminal is not None:
            body["terminal"] = {"rows": terminal[0], "columns": terminal[1]}
        path = f"{workload_path(ref)}/exec"
        return cast("StartedCommand", self._http.json("POST", path, params=params, json=body))

    def attach(self, ref: str | int, namespace: str | None = None, *, replica: int | None = None) -> StartedCommand:
        """Attach to a running task: `exec_output` gives what it writes from now on and last its exit code, `exec_input`
        sends to it if the answer says so, `end_exec` detaches."""
        params = {"namespace": namespace, "replica": replica}
        return cast("StartedCommand", self._http.json("POST", f"{workload_path(ref)}/attach", params=params))

    def exec_output(self, id_: str, *, offset: int = 0) -> CommandOutput:
        """What the command wrote from a byte offset on; waits a few seconds for something."""
        answer = self._http.ask("GET", f"{_exec(id_)}/output", params={"offset": offset})
        headers = answer.headers
        code = headers.get("x-exit-code")
        ended, error = headers.get("x-ended") == "true", unquote(headers.get("x-error") or "")
        following = int(headers.get("x-next-offset") or offset + len(answer.content))
        return CommandOutput(answer.content, following, ended, None if code is None else int(code), error)

    def exec_input(self, id_: str, content: bytes, *, offset: int, end: bool = False) -> int:
        """Send what the command reads from this byte offset on. Returns the offset from which to go on. `end`: there is
        no more."""
        params, headers = {"offset": offset, "end": end or None}, {"Content-Type": "application/octet-stream"}
        path = f"{_exec(id_)}/input"
        taken = self._http.json("POST", path, params=params, content=content, headers=headers, repeatable=True)
        return cast("TakenInput", taken)["offset"]

    def resize_exec(self, id_: str, rows: int, columns: int) -> None:
        """The size of its terminal has changed."""
        self._http.ask("PUT", f"{_exec(id_)}/terminal", json={"rows": rows, "columns": columns}, repeatable=True)

    def end_exec(self, id_: str) -> None:
        """End the command, where its backend can do that."""
        self._http.ask("DELETE", _exec(id_))


def _exec(id_: str) -> str:
    return f"{API}/exec/{segment(id_, 'command')}"
