"""What `dovetail plan` prints of a gang's communication."""

from typing import Any

from tests.unit.cli.answers import drawn, explanation, widest

from dovetail.cli.render.decision import plan_view


def plan(communication: dict[str, Any] | None) -> Any:
    tasks = [{"replica": i, "node": f"n{i}", "explanation": explanation()} for i in range(2)]
    where = {"name": "gang", "namespace": "default", "queue": "default", "over_quota": None, "displaces": None}
    return {**where, "tasks": tasks, "placed": 2, "unplaced": 0, "communication": communication, "answer": "All go."}


def test_a_gangs_exchange_is_timed_below_the_answer() -> None:
    talk = {"message": "all-reduce of 1GiB: about 12 ms; 1.8 × the best possible", "algorithm": "ring"}
    told = plan({**talk, "busiest": "the links up from leaf l0"})
    text = drawn(plan_view(told))
    assert text.splitlines()[:2] == ["All go.", talk["message"]]
    assert "held up" not in text
    assert "by ring, held up by the links up from leaf l0" in drawn(plan_view(told, wide=True))
    assert widest(text) <= 80


def test_without_one_nothing_is_said() -> None:
    assert "all-reduce" not in drawn(plan_view(plan(None)))
