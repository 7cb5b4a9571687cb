"""Expected starts are worked out for the rows that somebody asks about, and are those of the whole plan."""

from collections.abc import Generator
from typing import Any, TypeVar

import pytest

from dovetail.engine.engine import Engine
from dovetail.engine.pieces import whole
from dovetail.engine.questions.plan_questions import KEPT_S, StartGuess
from dovetail.engine.questions.questions import Questions
from dovetail.engine.scheduling import forecast
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload

WAITING = 40
NOW = 100.0

T = TypeVar("T")


@pytest.fixture(params=["fifo", "priority", "shortest", "fair"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Two nodes that are full, and work of every priority, run time and size that waits; some not tried yet."""
    engine = Engine(EngineSettings.model_validate({"schedulers": {"default": {"order": request.param}}}))
    for name in ("n1", "n2"):
        engine.handle(NodeJoined(Node.model_validate({"name": name, "backend": "sim", "capacity": {"cpu": 4}})), 0.0)
    for id_ in range(1, WAITING + 3):
        fields: dict[str, Any] = {
            "name": f"w{id_}",
            "namespace": ("a", "b", "c")[id_ % 3],
            "priority": ("low", "high", "medium")[id_ % 3],
            "resources": {"cpu": 4 if id_ < 3 else 1 + id_ % 4},
            "deadline": {"run_for": f"{60 + 10 * (id_ % 5)}s"},
            "disruption": {"allowed": False},
        }
        engine.handle(Submitted(id_, Workload.model_validate(fields)), float(id_))
        if id_ < WAITING - 5:
            engine.handle(Tick(100), float(id_))
    return engine


def starts(engine: Engine, now: float = NOW, wanted: list[int] | None = None) -> dict[int, StartGuess]:
    return whole(Questions(engine).plans.starts(now, wanted))


def pieces_of(question: Generator[None, None, T]) -> tuple[int, T]:
    pieces = 0
    while True:
        try:
            next(question)
        except StopIteration as end:
            return pieces, end.value
        pieces += 1


def test_those_asked_for_start_as_in_the_plan_of_all(engine: Engine) -> None:
    everything = starts(engine)
    assert len(everything) == WAITING
    assert len({guess.expected for guess in everything.values()}) > 5
    for id_, guess in everything.items():
        assert starts(engine, wanted=[id_, 999]) == {id_: guess}


def test_only_those_ahead_of_them_are_planned(engine: Engine) -> None:
    order = list(forecast.in_order(engine._state, NOW))
    for place in (1, 10, WAITING):
        pieces, found = pieces_of(Questions(engine).plans.starts(NOW, [order[place - 1]]))
        assert pieces == place + 1, "one more for the capacity over time"
        assert list(found) == [order[place - 1]]
    assert pieces_of(Questions(engine).plans.starts(NOW, [999])) == (0, {})


def test_a_later_question_goes_on_where_the_last_one_stopped(engine: Engine) -> None:
    order, questions = list(forecast.in_order(engine._state, NOW)), Questions(engine)
    everything = starts(engine)
    first, second = questions.plans.starts(NOW, order[:10]), questions.plans.starts(NOW + 1, order[:20])
    for _ in range(5):  # two that ask at the same time share what is planned
        next(first)
        next(second)
    assert whole(second) == {id_: everything[id_] for id_ in order[:20]}
    assert pieces_of(first) == (0, {id_: everything[id_] for id_ in order[:10]})
    assert pieces_of(questions.plans.starts(NOW + 2, order[:20]))[0] == 0
    assert pieces_of(questions.plans.starts(NOW + KEPT_S, order[:20]))[0] == 21, "time has passed"
    engine.handle(Tick(100), NOW + KEPT_S)
    assert pieces_of(questions.plans.starts(NOW + KEPT_S, order[:1]))[0] > 0, "something has changed"


def test_the_order_is_that_of_all_waiting_work_by_key(engine: Engine) -> None:
    state = engine._state
    [queue], [blocked] = state.pending.by_scheduler.values(), state.pending.blocked.values()
    assert len(queue)
    assert len(blocked)
    if queue.ordering.by_tenant:
        expected = [*blocked, *queue.in_order(NOW)]
    else:
        expected = sorted([*queue, *blocked], key=lambda id_: (state.pending.key(state.work[id_]), id_))
    assert list(forecast.in_order(state, NOW)) == expected
