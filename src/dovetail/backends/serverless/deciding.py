"""Decides the next step of one attempt from the journal and the service. Pure.

journal                the call                        not to be stopped            to be stopped
---------------------  ------------------------------  ---------------------------  ---------------------------
ordered                –                               send it                      ended, as requested
sent, findable         not known, and not accepted     send it again, in a while    take it back: refuse it
                       not known, accepted             wait for it                  take it back: refuse it
                       waiting, running                wait                         take it back, then wait
                       ended                           ended with its result        the same
sent, not findable     open in this process            wait                         ended, as requested: it
                                                                                    cannot be taken back
                       not open any more               lost: it may have run        the same
adopted                not known                       lost, and refused            the same
"""

from dataclasses import dataclass
from enum import StrEnum

from dovetail.backends.serverless.calls import CallPhase, CallResult, CallSeen
from dovetail.backends.serverless.journal import CallRecord, CallState

LOST = "lost: the answer of its call did not arrive; the function may have run, so it is not called again"
NO_TRACE = "lost: there is no trace of its call"
RUNS_ON = "; its call cannot be taken back, and may run until the function's own time limit"


class CallDo(StrEnum):
    SEND = "send"
    WAIT = "wait"
    CANCEL = "cancel"
    END = "end"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class CallStep:
    """`result` and `ran` belong to END. `forbid`: the service is told first to refuse the key from now on."""

    do: CallDo
    result: CallResult | None = None
    ran: bool = False
    forbid: bool = False


def decide_call(record: CallRecord, seen: CallSeen | None, *, findable: bool, open_here: bool) -> CallStep:
    if record.state is CallState.ENDED:
        return CallStep(CallDo.REPORT)
    asked = CallResult(record.stop_code, record.stop_reason or "stopped")
    stopping = record.stop_reason is not None
    if record.state is CallState.ORDERED:
        return CallStep(CallDo.END, asked) if stopping else CallStep(CallDo.SEND)
    if not findable:
        if open_here and not stopping:
            return CallStep(CallDo.WAIT)
        runs_on = CallResult(record.stop_code, asked.reason + RUNS_ON)
        return CallStep(CallDo.END, runs_on if stopping else CallResult(None, LOST), ran=True)
    if seen is None:
        return _unseen(record, asked, stopping=stopping)
    if seen.phase is CallPhase.ENDED:
        return CallStep(CallDo.END, ended(record, seen), ran=True)
    return CallStep(CallDo.CANCEL if stopping else CallDo.WAIT)


def _unseen(record: CallRecord, asked: CallResult, *, stopping: bool) -> CallStep:
    if stopping:
        return CallStep(CallDo.END, asked, forbid=True)
    if record.state is CallState.ADOPTED:
        return CallStep(CallDo.END, CallResult(None, NO_TRACE), ran=True, forbid=True)  # it was bound once
    return CallStep(CallDo.WAIT if record.accepted else CallDo.SEND)


def ended(record: CallRecord, seen: CallSeen) -> CallResult:
    """How a call ended that the service knows: one without an exit code was stopped, by us if we asked for it."""
    result = seen.result or CallResult(None, "ended")
    if record.stop_reason is None or result.exit_code is not None:
        return result
    return CallResult(record.stop_code, record.stop_reason, result.output)
