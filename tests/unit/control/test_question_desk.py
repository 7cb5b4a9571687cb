"""Long questions are worked out between the turns of the loop, on a clock that is turned by hand."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.cluster.state import Cluster
from dovetail.control.services.questions import MOST_STARTS, QuestionDesk
from dovetail.engine.engine import Engine
from dovetail.engine.pieces import IsSpent, Pieces, in_one, whole
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import NodeJoined, NodeObserved, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload

BUDGET_S = 0.025
PIECE_S = 0.010


class Hall:
    """A desk, a loop that counts its turns, and a clock that moves only when a piece is worked on."""

    def __init__(self) -> None:
        self.version, self.turns, self.now = 0, 0, 0.0
        self.worked: list[tuple[str, int]] = []  # question, and the turn of the loop at which a piece was worked on
        self.each_turn: Callable[[], None] = lambda: None
        self.desk = QuestionDesk(lambda: self.version, BUDGET_S, lambda: self.now)

    def question(self, name: str, pieces: int, piece_s: float = PIECE_S) -> Callable[[IsSpent], Pieces[str]]:
        def asked(is_spent: IsSpent) -> Pieces[str]:
            assert not is_spent(), "it begins with a budget"
            for _ in range(pieces):
                self.worked.append((name, self.turns))
                self.now += piece_s
                yield
            return f"{name} at {self.version}"

        return asked

    async def loop(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.turns += 1
            self.each_turn()

    def run(self, *questions: Callable[[IsSpent], Pieces[Any]]) -> list[Any]:
        return asyncio.run(self._run(*questions))

    async def _run(self, *questions: Callable[[IsSpent], Pieces[Any]]) -> list[Any]:
        loop = asyncio.ensure_future(self.loop())
        try:
            return await asyncio.gather(*map(self.desk.ask, questions), return_exceptions=True)
        finally:
            loop.cancel()


def most_in_one_turn(worked: list[tuple[str, int]]) -> int:
    turns = [turn for _, turn in worked]
    return max(turns.count(turn) for turn in turns)


def test_the_loop_decides_between_the_pieces_of_a_long_question() -> None:
    hall = Hall()
    assert hall.run(hall.question("long", 30)) == ["long at 0"]
    assert len(hall.worked) == 30
    assert most_in_one_turn(hall.worked) == 3, "as many as the budget allows: the third ends after 25 ms"
    assert hall.turns >= 9


def test_many_short_questions_share_one_budget() -> None:
    hall = Hall()
    answers = hall.run(*(hall.question(f"q{i}", 1) for i in range(30)))
    assert answers == [f"q{i} at 0" for i in range(30)]
    assert most_in_one_turn(hall.worked) == 3


def test_a_short_question_does_not_wait_for_a_long_one() -> None:
    hall = Hall()
    hall.run(hall.question("long", 30), hall.question("short", 1))
    assert [name for name, _ in hall.worked].index("short") <= 6, "after two turns at most"


def test_a_question_begins_anew_when_something_happened_and_is_about_one_state() -> None:
    hall = Hall()

    def happen() -> None:
        hall.version += hall.turns == 2

    hall.each_turn = happen
    assert hall.run(hall.question("long", 12)) == ["long at 1"]
    assert 12 < len(hall.worked) < 24


def test_a_question_that_fits_into_a_larger_budget_is_answered_though_something_happens_every_turn() -> None:
    hall = Hall()

    def happen() -> None:
        hall.version += 1

    hall.each_turn = happen
    (answer,) = hall.run(hall.question("long", 10))
    assert answer.startswith("long at ")


def test_a_question_is_answered_in_one_go_when_things_change_too_often() -> None:
    hall = Hall()

    def happen() -> None:
        hall.version += 1

    hall.each_turn = happen
    (answer,) = hall.run(hall.question("long", 1000))
    assert answer == f"long at {MOST_STARTS}"
    assert hall.turns < 10, "it begins anew a few times only"


def test_what_a_question_raises_reaches_who_asked_and_holds_up_nobody() -> None:
    hall = Hall()

    def wrong() -> str:
        raise KeyError("n7")

    found = hall.run(lambda _: in_one(wrong), hall.question("next", 1))
    assert isinstance(found[0], KeyError)
    assert found[1] == "next at 0"


# --- with an engine ------------------------------------------------------------------------------------------------


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    for i in range(20):
        engine.handle(NodeJoined(Node.model_validate({"name": f"n{i}", "capacity": {"cpu": 32}})), 0.0)
    return engine


class Ticking:
    """Each look at the clock takes a millisecond."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def test_a_plan_in_pieces_is_the_plan_in_one_go_and_work_is_placed_meanwhile(engine: Engine) -> None:
    asyncio.run(plan_while_work_is_placed(engine))


async def plan_while_work_is_placed(engine: Engine) -> None:
    questions = Questions(engine)
    spec = Workload.model_validate({"name": "wide", "resources": {"cpu": 1}, "replicas": 300})
    expected = [task.node for task in whole(Questions(engine).plans.plan(spec))]
    seen: list[int] = []
    starts = 0

    def asked(is_spent: IsSpent) -> Pieces[list[str | None]]:
        nonlocal starts
        starts += 1
        tasks = yield from questions.plans.plan(spec, 1000, 0.0, is_spent)
        return [task.node for task in tasks]

    async def loop() -> None:
        while True:
            seen.append(len(engine._state.cluster.placements.by_task))
            await asyncio.sleep(0)

    desk = QuestionDesk(lambda: questions.version, BUDGET_S, Ticking())
    turns = asyncio.ensure_future(loop())
    assert await desk.ask(asked) == expected
    assert len(seen) > 5, "the loop had its turns"
    assert set(seen) == {0}, "between pieces nothing is placed"
    engine.handle(Submitted(1, Workload.model_validate({"name": "real", "resources": {"cpu": 1}})), 1.0)
    pending = asyncio.ensure_future(desk.ask(asked))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    engine.handle(Tick(10), 1.0)
    await pending
    turns.cancel()
    assert engine._state.work[1].holding == 1, "it was placed while the plan was made"
    assert starts == 3, "and the plan began anew"


def test_placing_again_costs_no_more_than_deciding(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """However short a piece is: 640 copies were placed 205,000 times."""
    placed, place = [], Cluster.place

    def counted(self: Cluster, *given: Any, **more: Any) -> None:
        placed.append(given)
        place(self, *given, **more)

    monkeypatch.setattr(Cluster, "place", counted)
    spec = Workload.model_validate({"name": "wide", "resources": {"cpu": 1}, "conflicts": ["nobody"]})
    pieces = Questions(engine).plans.capacity(spec, is_spent=lambda: True)
    assert whole(pieces).total == 640
    assert len(placed) < 10 * 640


def test_answers_about_a_state_that_is_gone_are_not_kept(engine: Engine) -> None:
    questions = Questions(engine)
    for number in range(5):
        spec = Workload.model_validate({"name": f"wide-{number}", "resources": {"cpu": 1}, "replicas": 300})
        assert whole(questions.plans.plan(spec)) is whole(questions.plans.plan(spec))
        engine.handle(NodeObserved("n1", {"cpu": number}), 0.0)
    assert len(questions.plans._answers) == 1


def test_a_plan_is_made_on_a_cluster_that_never_rests(engine: Engine) -> None:
    asyncio.run(plan_while_nodes_report(engine))


async def plan_while_nodes_report(engine: Engine) -> None:
    questions = Questions(engine)
    spec = Workload.model_validate({"name": "wide", "resources": {"cpu": 1}, "replicas": 600})

    async def loop() -> None:
        while True:
            engine.handle(NodeObserved("n1", {"cpu": 100}), 0.0)
            await asyncio.sleep(0)

    turns = asyncio.ensure_future(loop())
    desk = QuestionDesk(lambda: questions.version, BUDGET_S, Ticking())
    planned = await desk.ask(lambda is_spent: questions.plans.plan(spec, 1000, 0.0, is_spent))
    turns.cancel()
    assert len(planned) > 1
    assert not engine._state.cluster.placements.by_task
