"""What cannot be had together and what would help, as people see it."""

from typing import Any

from tests.unit.cli.answers import NOW, drawn, refused_everywhere, widest, workload

from dovetail.cli.render.decision import explain_view

CORE = [
    {"requirement": "zone=a", "field": "node_selector.zone", "nodes_alone": 12},
    {"requirement": "memory 64GiB free", "field": "resources.memory", "nodes_alone": 1},
]
SUGGESTIONS = [
    {"words": "allow zone b", "kind": "labels", "patch": {"node_selector": None}, "action": None},
    {"words": "wait about 1 h: 2 tasks on n3 will have ended", "kind": "wait", "patch": None}
    | {"action": {"wait_until": NOW + 3600}},
]


def explained(**fields: Any) -> Any:
    found = {"workload": workload(state="pending"), "state": "pending", "answer": "train waits.", "decision": None}
    start = {"starts_at": None, "starts_early": None, "starts_late": None}
    return found | start | {"now": refused_everywhere(), "position": 3} | fields


def test_the_core_and_the_suggestions_stand_between_the_answer_and_the_funnel() -> None:
    text = drawn(explain_view(explained(core=CORE, core_exact=True, suggestions=SUGGESTIONS), NOW))
    lines = [line for line in text.splitlines() if line]
    order = [
        next(i for i, line in enumerate(lines) if part in line)
        for part in ("train waits", "the smallest set", "zone=a", "1. ✓ allow zone b", "2. ✓ wait about 1 h", "█")
    ]
    assert order == sorted(order)
    assert "node_selector.zone" in text
    assert "12 nodes" in text
    assert "1 node\n" in text
    assert widest(text) <= 80


def test_a_core_that_may_not_be_the_smallest_is_not_called_so() -> None:
    text = drawn(explain_view(explained(core=CORE, core_exact=False, suggestions=[]), NOW))
    assert "a small set of its requirements" in text
    assert "what would help" not in text


def test_waiting_is_told_with_the_time_of_day() -> None:
    text = drawn(explain_view(explained(core=[], core_exact=True, suggestions=SUGGESTIONS), NOW))
    [line] = [line for line in text.splitlines() if "wait about" in line]
    assert line.endswith(")")
    assert ":" in line.split("(")[-1]
    assert "smallest" not in text


def test_an_answer_of_an_older_server_is_shown_without_them() -> None:
    assert "would help" not in drawn(explain_view(explained(), NOW))


def test_long_expressions_are_folded() -> None:
    long = {"requirement": "node.free.memory > GiB(64) && " * 8 + "true", "field": "constraints[0].require"}
    text = drawn(explain_view(explained(core=[long | {"nodes_alone": 0}], core_exact=True, suggestions=[]), NOW))
    assert widest(text) <= 80
