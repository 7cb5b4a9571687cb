"""The table of what is done next with a call, row by row, and how results are read."""

import pytest

from dovetail.backends.serverless.calls import CallPhase, CallResult, CallSeen, failed, result_of
from dovetail.backends.serverless.deciding import CallDo, decide_call
from dovetail.backends.serverless.journal import CallRecord, CallState
from dovetail.backends.serverless.node import FunctionPrice

ORDERED, SENT, ADOPTED = CallState.ORDERED, CallState.SENT, CallState.ADOPTED
RUNNING, WAITING = CallSeen(CallPhase.RUNNING), CallSeen(CallPhase.WAITING)
DONE = CallSeen(CallPhase.ENDED, CallResult(3, "exit status 3", "text"))
STOPPED = CallSeen(CallPhase.ENDED, CallResult(None, "terminated"))


def record(state: CallState, stop: str | None = None, *, accepted: bool = False) -> CallRecord:
    return CallRecord("1.0.1", "n", state, accepted=accepted, stop_reason=stop)


@pytest.mark.parametrize(
    ("given", "seen", "findable", "open_here", "does"),
    [
        (record(ORDERED), None, True, False, CallDo.SEND),
        (record(ORDERED, "enough"), None, True, False, CallDo.END),
        (record(SENT), None, True, False, CallDo.SEND),
        (record(SENT, accepted=True), None, True, False, CallDo.WAIT),
        (record(SENT, accepted=True), WAITING, True, False, CallDo.WAIT),
        (record(SENT, accepted=True), RUNNING, True, False, CallDo.WAIT),
        (record(SENT, "enough", accepted=True), RUNNING, True, False, CallDo.CANCEL),
        (record(SENT, accepted=True), DONE, True, False, CallDo.END),
        (record(SENT), None, False, True, CallDo.WAIT),
        (record(SENT), None, False, False, CallDo.END),
        (record(ADOPTED), None, True, False, CallDo.END),
        (record(ADOPTED), RUNNING, True, False, CallDo.WAIT),
        (record(CallState.ENDED), None, True, False, CallDo.REPORT),
    ],
)
def test_the_next_step_follows_from_the_journal_and_the_service(
    given: CallRecord, seen: CallSeen | None, findable: bool, open_here: bool, does: CallDo
) -> None:
    assert decide_call(given, seen, findable=findable, open_here=open_here).do is does


def test_a_call_that_is_not_known_is_forbidden_before_it_ends() -> None:
    step = decide_call(record(SENT, "enough"), None, findable=True, open_here=False)
    assert (step.do, step.forbid, step.ran) == (CallDo.END, True, False)


def test_a_call_whose_answer_cannot_come_any_more_is_lost_and_counts_as_run() -> None:
    step = decide_call(record(SENT), None, findable=False, open_here=False)
    assert step.result is not None
    assert (step.result.exit_code, step.ran) == (None, True)
    assert "may have run" in step.result.reason


def test_a_stop_that_came_too_late_leaves_the_true_end() -> None:
    step = decide_call(record(SENT, "enough"), DONE, findable=True, open_here=False)
    assert step.result == DONE.result


def test_an_end_by_our_stop_has_our_reason() -> None:
    step = decide_call(record(SENT, "enough"), STOPPED, findable=True, open_here=False)
    assert step.result == CallResult(None, "enough")


@pytest.mark.parametrize(
    ("value", "code", "output"),
    [
        ({"rows": 2}, 0, '{"rows": 2}'),
        ("text", 0, "text"),
        (None, 0, ""),
        (0, 0, "0"),
        ({"exit_code": 3, "output": "a"}, 3, "a"),
        ({"exit_code": 300}, 0, '{"exit_code": 300}'),
        ({"exit_code": 2}, 2, ""),
        ({"exit_code": True}, 0, '{"exit_code": true}'),
    ],
)
def test_a_result_is_output_and_perhaps_an_exit_code(value: object, code: int, output: str) -> None:
    found = result_of(value)
    assert (found.exit_code, found.output) == (code, output)


def test_the_first_line_of_an_error_is_the_reason() -> None:
    found = failed("ValueError: no\n  at line 3\n", "log")
    assert (found.exit_code, found.reason, found.output) == (1, "ValueError: no", "log\nValueError: no\n  at line 3\n")


def test_a_price_is_of_memory_over_time_and_of_calls() -> None:
    price = FunctionPrice(per_gb_second=0.00001, per_million_calls=0.2)
    assert price.per_hour(2**29, 10) == pytest.approx(0.18)
    assert price.of_call(2**30, 2.0) == pytest.approx(0.0000202)
