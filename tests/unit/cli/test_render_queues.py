"""Queues and predicted starts as people see them."""

from typing import Any

import pytest
from tests.unit.cli.answers import NOW, drawn, explanation, waiting, widest, workload

from dovetail.cli.render.decision import explain_view, plan_view
from dovetail.cli.render.parts.times import starts_about, starts_in
from dovetail.cli.render.queues import queue_list, queue_tree, use_bar
from dovetail.responses.queues import QueueResource, QueuesAnswer
from dovetail.responses.workloads import PredictedStart


def use(used: float, guaranteed: float = 0, maximum: float | None = None, borrowed: float = 0) -> QueueResource:
    return {
        "unit": "gpus",
        "used": used,
        "guaranteed": guaranteed,
        "maximum": maximum,
        "borrowed": borrowed,
        "cluster": 64.0,
    }


def queue(path: str, **fields: Any) -> Any:
    found: dict[str, Any] = {
        "path": path,
        "name": path.split("/")[-1],
        "depth": path.count("/") + 1,
        "leaf": True,
        "weight": 1.0,
        "share": 0.25,
        "dominant": "gpu",
        "waiting": 2,
        "max_workloads": None,
        "resources": {"gpu": use(16, 8, 32, 8), "cpu": use(4)},
        "user_limits": {},
    }
    return found | fields


def answer(*queues: Any, **fields: Any) -> QueuesAnswer:
    found: Any = {
        "queues": list(queues),
        "loans": [],
        "fair_between": "namespace",
        "tenants": [{"tenant": "", "weight": 2.0, "share": 0.5, "deviation": -0.25}],
    }
    return found | fields  # type: ignore[no-any-return]


def start(at: float | None, early: float | None = None, late: float | None = None) -> PredictedStart:
    moments = [None if s is None else NOW + s for s in (at, early, late)]
    return {"starts_at": moments[0], "starts_early": moments[1], "starts_late": moments[2]}


@pytest.mark.parametrize(
    ("resource", "drawing"),
    [
        (use(0, 8, 16), "········│·······"),
        (use(8, 8, 16), "████████│·······"),
        (use(12, 8, 16, 4), "████████▒▒▒▒····"),
        (use(16, 8, 16, 8), "████████▒▒▒▒▒▒▒▒"),
        (use(32), "████████········"),
        (use(0.01), "█···············"),
        (use(0, 0, 0), "················"),
        (use(70, 64, None, 6), "███████████████▒"),
    ],
)
def test_a_bar_shows_what_is_used_guaranteed_borrowed_and_allowed(resource: QueueResource, drawing: str) -> None:
    assert use_bar(resource).plain == drawing


def test_the_tree_is_indented_summed_up_and_fits_eighty_columns() -> None:
    long = "a-department-with-a-very-long-name-indeed"
    text = drawn(queue_tree(answer(queue("research"), queue("research/nlp"), queue(long, max_workloads=1000))))
    lines = text.splitlines()
    assert lines[0] == "3 queues, 4 workloads waiting"
    assert lines[2].startswith("research ")
    assert lines[4].startswith("  nlp ")
    assert lines[3].strip() == lines[5].strip() == "gpu 16 of 8, max 32"
    assert "2 of 1000" in lines[6]
    assert widest(text) <= 80
    assert "gpu 16 of 8, max 32" in drawn(queue_tree(answer(queue("research"))))


def test_loans_say_who_borrows_from_whom_and_tenants_how_far_they_are_from_fair() -> None:
    loan = {
        "resource": "gpu",
        "borrowers": [{"queue": f"q{i}", "amount": 8.0 - i} for i in range(5)],
        "lenders": [{"queue": "ops", "amount": 16.0}],
    }
    text = drawn(queue_tree(answer(queue("q0"), loans=[loan])))
    assert "gpu: q0 borrows 8, q1 borrows 7, q2 borrows 6, 2 more (-o wide)" in text
    assert "(none)" in text
    assert "-25%" in text
    everybody = drawn(queue_tree(answer(queue("q0"), loans=[loan]), wide=True), width=2000)
    assert "q4 borrows 4; ops lends 16" in everybody


def test_the_first_of_a_long_queue_say_how_to_get_the_others() -> None:
    text = drawn(queue_list([waiting(1), waiting(2)], NOW, total=312))
    assert text.startswith("the first 2 of 312 workloads with 4 tasks waiting")
    assert text.splitlines()[-1] == "and 310 more workloads; --limit 312 lists them"
    assert "more" not in drawn(queue_list([waiting(1)], NOW, total=1))


def test_wide_shows_every_resource() -> None:
    assert "cpu 4" in drawn(queue_tree(answer(queue("a")), wide=True), width=2000)


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        (start(840, 300, 2400), "in 14 m (5–40 m)"),
        (start(7200, 1800, 18000), "in 2 h (30 m–5 h)"),
        (start(20, 0, 45), "in 20 s (0–45 s)"),
        (start(1200, 0, 1260), "in 20 m (0–21 m)"),
        (start(-5, -5, -5), "now (0 s)"),
        (start(59.8, 59.8, 59.8), "in 1 m (1 m)"),
        (start(3600), "in 1 h"),
        (start(None), "—"),
    ],
)
def test_a_start_is_told_with_its_range(guess: PredictedStart, words: str) -> None:
    assert starts_in(guess, NOW) == words


def test_a_start_is_told_by_the_clock_and_with_its_date_when_that_is_not_today() -> None:
    assert starts_about(start(None), NOW) == ""
    soon = starts_about(start(60, 0, 120), NOW)
    assert soon.startswith("Starts about ")
    assert len(soon) == len("Starts about 14:20 (13:50–15:10)")
    assert starts_about(start(60, 0, 120), NOW, rest=True).startswith("The rest starts about ")
    assert "-" in starts_about(start(3 * 86400, 3 * 86400, 3 * 86400), NOW)


def test_explain_tells_the_predicted_start_and_no_funnel_where_no_node_was_looked_at() -> None:
    refused = explanation(outcome="over_quota", message="queue ml: gpu 8 of 8 in use", funnel=[], weights={}, best=[])
    decision = {"workload": 7, "replica": 0, "attempt": 1, "at": NOW, "node": None, "outcome": "over_quota"}
    found: Any = {
        "workload": workload(active=0),
        "state": "pending",
        "answer": "train waits.",
        "decision": decision | {"explanation": refused},
        "now": None,
        "position": 1,
    }
    text = drawn(explain_view(found | start(60, 0, 120), NOW))
    assert len(text.splitlines()) == 2
    assert text.splitlines()[1].startswith("Starts about ")


def test_a_plan_lists_who_would_have_to_give_way() -> None:
    victims = [
        {"workload": 3, "replica": i, "namespace": "d", "name": "nightly", "priority": "batch", "node": f"n{i}",
         "lost_s": 125.0}
        for i in range(25)
    ]  # fmt: skip
    plan: Any = {
        "name": "now",
        "namespace": "default",
        "tasks": [{"replica": 0, "node": None, "explanation": explanation(outcome="insufficient_resources", best=[])}],
        "placed": 0,
        "unplaced": 1,
        "queue": "default",
        "over_quota": None,
        "displaces": {"tasks": 1, "victims": victims},
        "answer": "now would wait.",
    }
    text = drawn(plan_view(plan))
    assert "nightly.0" in text
    assert "2m05s" in text
    assert "and 5 more tasks; -o wide lists them" in text
    assert widest(text) <= 80
