"""What a service of functions does with calls: begins them, finds them again, takes them back.

A result is any JSON value. An object with `exit_code` (0 to 255) sets the exit code of the task, and its `output`, if
that is text, is the output: so a function can run a command and say how it ended.
"""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from dovetail.backends.contract import Assignment
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node
from dovetail.model.workloads.function import FunctionCall

FAILED_EXIT, TIME_LIMIT_EXIT = 1, 124  # the second as timeout(1) uses it
IDENTITY_FIELD = "dovetail"


class CallThrottled(Exception):
    """The service has too many calls at the moment, and has not begun this one."""


class CallNotSent(Exception):
    """Nothing of the call has reached the service: no connection was made."""


class CallRefused(Exception):
    """The service will not run this call, and nothing of it runs. `cause` says whose fault that is."""

    def __init__(self, words: str, cause: FailureCause = FailureCause.UNKNOWN) -> None:
        super().__init__(words)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class CallOrder:
    """One call. `key` is the idempotency key, unique among all control planes. `body`: the payload as JSON."""

    key: str
    node: str
    call: FunctionCall
    body: bytes
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended. `exit_code` None: it was stopped or lost."""

    exit_code: int | None
    reason: str
    output: str = ""
    cause: FailureCause = FailureCause.UNKNOWN


@dataclass(frozen=True, slots=True)
class CallAccepted:
    """The service has taken the call and will run it. `handle`: by what the service finds it again."""

    handle: str = ""


class CallPhase(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class CallSeen:
    """A call as the service describes it. `beat` changes while the call is alive, if the service has one."""

    phase: CallPhase
    result: CallResult | None = None
    beat: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)


class FunctionService(Protocol):
    """Where functions run. Errors other than those of this module mean that nothing is known."""

    async def open(self) -> None:
        """Get ready to be asked. Asks nothing itself."""

    async def describe(self) -> dict[str, Node | Exception]:
        """The functions as nodes, by name, and why one cannot be used. Raises if the service cannot be reached."""

    def records(self, node: str) -> bool:
        """Whether calls of this function are recorded under their key: they can be found, sent again and taken back."""

    def check(self, order: CallOrder) -> None:
        """Raises CallRefused for a call that can never be made, such as one that is too large."""

    async def begin(self, order: CallOrder) -> CallAccepted | CallResult:
        """Send the call. Returns its result where the service answers with it, which takes as long as the call."""

    async def find(self, node: str, key: str, handle: str) -> CallSeen | None:
        """A recorded call, or one with a handle; None if the service does not know it (yet)."""

    async def cancel(self, node: str, key: str, handle: str, reason: str) -> bool:
        """Take a call back, or end it. True if that is done or under way: `find` tells its end. False if the service
        cannot do that. One that it does not know yet is refused from then on, where calls are recorded."""

    async def close(self) -> None:
        """Stop waiting for calls, which run on."""


def order_of(assignment: Assignment, call: FunctionCall, key: str) -> CallOrder:
    body: Any = call.payload
    if call.identify and (body is None or isinstance(body, dict)):
        body = {**(body or {}), IDENTITY_FIELD: identity_of(assignment, key)}
    limits = [limit for limit in (call.timeout, assignment.spec.deadline.run_for) if limit is not None]
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    return CallOrder(key, assignment.node, call, text, min(limits, default=None))


def identity_of(assignment: Assignment, key: str) -> dict[str, Any]:
    """What a function is told of its task: the same as the variables of a command."""
    names = {name.removeprefix("DOVETAIL_").lower(): text for name, text in assignment.variables().items()}
    return {"key": key, "namespace": assignment.spec.namespace, **names}


def result_of(value: Any, log: str = "") -> CallResult:
    """The result of a function that returned this value."""
    code, output = 0, value
    given = value.get("exit_code") if isinstance(value, dict) else None
    if type(given) is int and 0 <= given <= 255:
        code, output = given, value.get("output", "")
    return CallResult(code, f"exit status {code}" if code else "returned", joined(log, as_output(output)))


def as_output(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def failed(words: str, log: str = "", cause: FailureCause = FailureCause.UNKNOWN) -> CallResult:
    """The result of a function that raised an error: its first line is the reason."""
    return CallResult(FAILED_EXIT, words.strip().splitlines()[0][:500] if words.strip() else "failed",
                      joined(log, words), cause)  # fmt: skip


def joined(log: str, text: str) -> str:
    return f"{log}{'' if not log or log.endswith(chr(10)) else chr(10)}{text}"
