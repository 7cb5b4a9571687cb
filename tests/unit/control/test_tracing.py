"""Traces: which trace a workload belongs to, what the phases of a task become, and what settings refuse."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.control.tracing.board import TraceBoard
from dovetail.control.tracing.identity import TraceIdentity, identified
from dovetail.control.tracing.open_trace import MOST_PHASES, MOST_REFUSALS, OpenTrace
from dovetail.control.tracing.settings import TracingSettings
from dovetail.control.tracing.spans import ROOT, PlannedSpan, spans_of
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.record import Decision, NewWorkload, RequestTrace, TaskRecord
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Workload

ENDPOINT = "http://127.0.0.1:4318/v1/traces"
GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def opened(replicas: int = 1, most_tasks: int = 8, trace: RequestTrace | None = None) -> OpenTrace:
    spec = Workload.model_validate({"name": "train", "replicas": replicas})
    new = NewWorkload.of(7, spec, "{}", 100.0, "default", trace=trace)
    return OpenTrace.of(new, TraceIdentity(2**127 + 5, 3), 100.5, most_tasks)


def decision(node: str | None, at: float, attempt: int = 1, words: str = "") -> Decision:
    outcome = Outcome.INSUFFICIENT_RESOURCES if node is None else Outcome.PLACED
    explanation = Explanation(outcome=outcome, profile="auto", nodes=2, funnel=(), message=words)
    return Decision(TaskId(7, 0), attempt, at, node, explanation)


def record(state: TaskState, attempt: int = 1, **more: Any) -> TaskRecord:
    return TaskRecord(TaskId(7, 0), state, attempt, node="n1", backend="sim", **more)


def phases(trace: OpenTrace) -> list[tuple[str, float, float]]:
    return [(one.name, one.began_at, one.ended_at) for one in trace.tasks[0].phases]


def whole(spans: list[PlannedSpan], parent: int) -> None:
    """Every parent is there, before its children; ids differ."""
    known = {parent}
    for one in spans:
        assert one.parent in known, one
        assert one.id not in known
        known.add(one.id)


def test_the_phases_of_a_task_follow_each_other_without_gaps() -> None:
    trace = opened(trace=RequestTrace("", 99.0))
    task = trace.tasks[0]
    task.refused(decision(None, 101.0, words="8 GPUs are short"))
    task.placed(decision("n1", 105.0), 105.01, 105.02)
    task.changed(record(TaskState.PLACED, placed_at=105.0), 105.0)
    task.changed(record(TaskState.BOUND, placed_at=105.0), 106.0)
    was_complete = trace.complete
    task.changed(record(TaskState.RUNNING, placed_at=105.0, started_at=107.0), 107.1)
    assert (was_complete, trace.complete) == (False, True)
    assert phases(trace) == [
        ("queue", 100.0, 105.0),
        ("decision", 105.0, 105.01),
        ("durable", 105.01, 105.02),
        ("bind", 105.02, 106.0),
        ("start", 106.0, 107.0),
    ]
    assert task.phases[0].events == [(101.0, "8 GPUs are short")]
    spans = spans_of(trace)
    whole(spans, parent=3)
    assert (spans[0].name, spans[0].began_at, spans[0].ended_at) == (ROOT, 99.0, 107.0)
    assert not [one for one in spans if one.error]


def test_a_task_that_the_backend_refuses_waits_again_in_the_same_trace() -> None:
    trace = opened()
    task = trace.tasks[0]
    task.placed(decision("n1", 101.0), 101.0, 101.0)
    task.changed(record(TaskState.PENDING, message="no such image"), 103.0)
    task.placed(decision("n2", 110.0, attempt=2), 110.0, 110.0)
    task.changed(record(TaskState.RUNNING, 2, placed_at=110.0, started_at=111.0), 111.0)
    kinds = [(one.name, one.attempt, one.error) for one in task.phases if one.name in ("queue", "bind")]
    assert kinds == [("queue", 1, ""), ("bind", 1, "no such image"), ("queue", 2, ""), ("bind", 2, "")]
    assert task.phases[4].began_at == 103.0
    whole(spans_of(trace), parent=3)


def test_a_trace_is_bounded_however_often_a_task_goes_back() -> None:
    trace = opened(replicas=10_000, most_tasks=8)
    assert list(trace.tasks) == list(range(8))
    task = trace.tasks[0]
    for number in range(1000):
        task.refused(decision(None, 101.0 + number, words="no"))
    assert len(task.refusals) == MOST_REFUSALS
    for number in range(1000):
        task.placed(decision("n1", 2000.0 + number), 2000.0 + number, 2000.0 + number)
    assert len(task.phases) == MOST_PHASES


def test_a_trace_is_the_same_after_it_was_written_down() -> None:
    trace = opened(replicas=2)
    trace.tasks[0].refused(decision(None, 101.0, words="no"))
    trace.tasks[0].placed(decision("n1", 105.0), 105.01, 105.02)
    again = OpenTrace.from_json(trace.to_json())
    assert again == trace
    assert spans_of(again) == spans_of(trace), "the ids too"


def test_after_missed_steps_the_state_of_a_task_tells_what_can_be_told() -> None:
    trace = opened()
    trace.tasks[0].caught_up(record(TaskState.RUNNING, placed_at=104.0, started_at=106.0))
    assert phases(trace) == [("queue", 100.0, 104.0), ("bind", 104.0, 106.0)]
    assert trace.complete
    whole(spans_of(trace), parent=3)


def test_a_clock_that_was_set_back_makes_no_span_that_ends_before_it_began() -> None:
    trace = opened(trace=RequestTrace("", 200.0))
    trace.tasks[0].placed(decision("n1", 50.0), 49.0, 48.0)
    trace.tasks[0].changed(record(TaskState.RUNNING, placed_at=50.0, started_at=40.0), 40.0)
    assert all(one.began_at <= one.ended_at for one in spans_of(trace))


def test_a_client_decides_and_a_wrong_header_is_ignored() -> None:
    found = identified(RequestTrace(GIVEN, 0.0), sample=0.0)
    assert found == TraceIdentity(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7)
    assert identified(RequestTrace(GIVEN[:-1] + "0", 0.0), sample=1.0) is None, "the client does not sample it"
    for wrong in ("", "00-zz", GIVEN.replace("00-", "ff-", 1), f"00-{'0' * 32}-00f067aa0ba902b7-01", "\x00" * 500):
        assert identified(RequestTrace(wrong, 0.0), sample=0.0) is None
        made = identified(RequestTrace(wrong, 0.0), sample=1.0)
        assert made is not None
        assert made.parent == 0


def test_a_sample_is_about_the_share_that_the_settings_say() -> None:
    found = sum(identified(None, sample=0.3) is not None for _ in range(2000))
    assert 450 < found < 750


def test_a_task_is_told_its_trace_unless_its_definition_says_otherwise() -> None:
    board = TraceBoard(None)
    spec = Workload.model_validate({"name": "w", "run": {"command": ["true"], "env": {"A": "1"}}})
    own = Workload.model_validate({"name": "w", "run": {"command": ["true"], "env": {"TRACEPARENT": "mine"}}})
    new = [NewWorkload.of(7, spec, "{}", 1.0, "default", trace=RequestTrace(GIVEN, 1.0))]
    board.note(new)
    assert board.told(spec, TaskId(7, 0)) is spec, "nothing is attached yet"
    board.attach(TracingSettings(endpoint=ENDPOINT))
    board.note(new)
    told = board.told(spec, TaskId(7, 0)).run.env
    assert told["A"] == "1"
    assert told["TRACEPARENT"].startswith("00-4bf92f3577b34da6a3ce929d0e0e4736-")
    assert spec.run.env == {"A": "1"}, "the definition stays as it was written"
    assert board.told(own, TaskId(7, 0)) is own
    board.forget(7)
    assert board.told(spec, TaskId(7, 0)) is spec


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"endpoint": "collector:4318"}, "is no address"),
        ({"endpoint": ENDPOINT, "sample": 2}, "less than or equal to 1"),
        ({"endpoint": ENDPOINT, "headers_file": "/nowhere/at/all"}, "cannot be read"),
        ({}, "required"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_what_to_do(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        TracingSettings.model_validate(fields)


def test_a_line_that_is_no_header_is_named(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("X-Key: secret\n\nnonsense\n")
    with pytest.raises(ValidationError, match="line 3 is no header"):
        TracingSettings(endpoint=ENDPOINT, headers_file=str(file))
    file.write_text("X-Key: a: b\n\n")
    assert TracingSettings(endpoint=ENDPOINT, headers_file=str(file)).headers() == {"x-key": "a: b"}
