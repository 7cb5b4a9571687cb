"""Reads what a function app answers: statuses of orchestrations, results of HTTP triggers. Pure."""

import json
from typing import Any

from dovetail.backends.serverless.calls import CallPhase, CallResult, CallSeen, as_output, failed, result_of

_WAITING, _RUNNING = ("Pending",), ("Running", "ContinuedAsNew", "Suspended")


def seen_in_status(told: dict[str, Any]) -> CallSeen:
    """Of the answer to a status query of Durable Functions."""
    status = str(told.get("runtimeStatus", ""))
    if status in _WAITING:
        return CallSeen(CallPhase.WAITING)
    if status in _RUNNING:
        return CallSeen(CallPhase.RUNNING)
    output = told.get("output")
    if status == "Completed":
        return CallSeen(CallPhase.ENDED, result_of(output))
    if status in ("Terminated", "Canceled"):
        return CallSeen(CallPhase.ENDED, CallResult(None, f"terminated: {as_output(output)}".rstrip(": ")))
    words = as_output(output) or f"the orchestration is {status or 'in no state that is known'}"
    return CallSeen(CallPhase.ENDED, failed(words))


def result_of_answer(status: int, body: bytes) -> CallResult:
    """Of an HTTP trigger: success with its body as the result, or a failure with the body as its output."""
    text = body.decode(errors="replace")
    try:
        value = json.loads(text) if text.strip() else None
    except ValueError:
        value = text
    if 200 <= status < 300:
        return result_of(value)
    found = failed(text or f"HTTP {status}")
    return CallResult(found.exit_code, f"HTTP {status}: {found.reason}"[:500], found.output, found.cause)


def status_address(told: Any, location: str | None) -> str | None:
    """Where a call that was answered with 202 tells its status."""
    given = told.get("statusQueryGetUri") if isinstance(told, dict) else None
    return given if isinstance(given, str) else location


def terminate_address(told: Any) -> str:
    given = told.get("terminatePostUri") if isinstance(told, dict) else None
    return given if isinstance(given, str) else ""
