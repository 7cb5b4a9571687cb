"""Decisions as people see them: the sentence, the funnel, the score table, what is short."""

import pytest
from tests.unit.cli.answers import NOW, candidate, drawn, explanation, refused_everywhere, widest, workload

from dovetail.cli.render.decision import (
    capacity_view,
    explain_view,
    explanation_view,
    funnel,
    plan_view,
    score_table,
    why_not_view,
)


def test_the_funnel_narrows_and_names_what_each_filter_refused() -> None:
    lines = drawn(funnel(explanation(), "node-3")).splitlines()
    blocks = [line.count("█") for line in lines[:3]]
    assert blocks == sorted(blocks, reverse=True)
    assert "-588 selector mismatch" in lines[1]
    assert "-375 insufficient resources" in lines[2]
    assert lines[3].split()[:2] == ["1", "chosen"]
    assert "node-3" in lines[3]


def test_filters_that_refused_nobody_are_counted_and_named_when_wide() -> None:
    assert drawn(funnel(explanation())).splitlines()[-1] == "2 other filters refused no node"
    assert drawn(funnel(explanation(), wide=True)).splitlines()[-1] == "refused no node: ready, taints"


def test_a_funnel_that_ends_at_nothing_stops_there() -> None:
    lines = drawn(funnel(refused_everywhere())).splitlines()
    assert lines[-1].split()[0] == "0"
    assert "█" not in lines[-1]


def test_a_funnel_over_no_nodes_draws_no_bar() -> None:
    text = drawn(funnel(explanation(nodes=0, funnel=[{"filter": "ready", "remaining": 0, "reason": "x"}])))
    assert "█" not in text


def test_the_score_table_has_weights_in_its_header_and_marks_the_chosen_row() -> None:
    text = drawn(score_table(explanation(), "node-9"))
    for weight in ("x 40", "x 30", "x 20", "x 10"):
        assert weight in text
    marked = [line for line in text.splitlines() if "▶" in line]
    assert len(marked) == 1
    assert "node-9" in marked[0]
    assert marked[0].endswith("70.00")


def test_a_score_that_gave_no_node_anything_is_only_named() -> None:
    best = [candidate(f"n-{i}", 90.0 - i, {"affinity": 0.5, "network_proximity": 0.0}) for i in range(3)]
    weights = {"affinity": 1.0, "network_proximity": 10.0}
    text = drawn(score_table(explanation(weights=weights, best=best), "n-0"))
    assert text.splitlines()[-1] == "0 on all of them: network proximity"
    assert "x 10" not in text
    assert "x 10" in drawn(score_table(explanation(weights=weights, best=best), "n-0", wide=True))
    nothing = [candidate("n-0", 0.0, {"affinity": 0.0})]
    assert "x 1" in drawn(score_table(explanation(weights={"affinity": 1.0}, best=nothing), "n-0"))


def test_the_chosen_node_is_shown_even_when_it_is_not_among_the_best() -> None:
    best = [candidate(f"n-{i}", 90.0 - i, {"affinity": 0.5}) for i in range(20)]
    text = drawn(score_table(explanation(weights={"affinity": 1.0}, best=best), "n-17", most=3))
    assert "n-17" in text
    assert "n-5" not in text


@pytest.mark.parametrize("name", ["n", "a-node-with-a-name-that-is-much-too-long-for-any-table-at-all"])
def test_an_explanation_fits_eighty_columns(name: str) -> None:
    points = dict.fromkeys(explanation()["weights"], 1.0)
    told = explanation(best=[candidate(name, 100.0, points)])
    answer = {
        "workload": workload(),
        "state": "running",
        "answer": f"train runs on {name}.",
        "decision": {"workload": 7, "replica": 0, "attempt": 1, "at": 0.0, "node": name, "outcome": "placed"}
        | {"explanation": told},
        "now": None,
        "position": None,
    }
    text = drawn(explain_view(answer, NOW))  # type: ignore[arg-type]
    assert text.splitlines()[0] == f"train runs on {name}."
    assert widest(text) <= 80


def test_waiting_work_is_explained_by_what_is_short_and_whether_moving_work_helps() -> None:
    answer = {
        "workload": workload(state="pending"),
        "state": "pending",
        "answer": "train waits.",
        "decision": None,
        "now": refused_everywhere(),
        "position": 3,
    }
    text = drawn(explain_view(answer, NOW))  # type: ignore[arg-type]
    assert "64GiB" in text
    assert "32.8GiB" in text
    assert "moving other work away could free enough capacity" in text


def test_why_not_shows_every_refusal_whole() -> None:
    sentence = "needs label arch=arm64 and the node has arch=amd64, which no amount of waiting is going to change"
    answer = {
        "node": "n-1",
        "refused": [
            {"filter": "node_selector", "reason": "mismatch", "message": sentence, "eviction": "never"},
            {"filter": "resources", "reason": "short", "message": "cpu short by 2", "eviction": "helps"},
        ],
        "rank": None,
        "feasible": 3,
        "best_node": "n-2",
        "answer": "n-1 cannot take train.",
        "points": {"total": 1.0, "scores": {}},
        "best": [],
    }
    text = drawn(why_not_view(answer))  # type: ignore[arg-type]
    assert widest(text) <= 80
    assert all(word in text for word in sentence.split())
    assert "could help" in text
    assert "cannot help" in text


def test_why_not_for_a_node_that_would_do_compares_it_with_the_best() -> None:
    answer = {
        "node": "n-9",
        "refused": [],
        "rank": 9,
        "feasible": 12,
        "best_node": "n-1",
        "answer": "n-9 could take train, but n-1 has more points.",
        "points": {"total": 40.0, "scores": {"affinity": 0.4}},
        "best": [candidate("n-1", 90.0, {"affinity": 0.9})],
    }
    text = drawn(why_not_view(answer))  # type: ignore[arg-type]
    assert "rank 9 of 12 nodes" in text
    assert [line.split()[:2] for line in text.splitlines() if "▶" in line] == [["▶", "n-9"]]


def test_a_plan_counts_tasks_by_node_and_explains_the_one_without_a_place() -> None:
    tasks = [{"replica": i, "node": f"n-{i % 2}", "explanation": explanation()} for i in range(3)]
    tasks.append({"replica": 3, "node": None, "explanation": refused_everywhere()})
    plan = {
        "name": "train",
        "namespace": "default",
        "tasks": tasks,
        "placed": 3,
        "unplaced": 1,
        "answer": "3 of 4 fit.",
    }
    text = drawn(plan_view(plan))  # type: ignore[arg-type]
    assert text.splitlines()[0] == "3 of 4 fit."
    assert "n-0       2" in text
    assert "how replica 3 was decided" in text
    assert "SHORT BY" in text


def test_capacity_on_many_nodes_says_how_to_see_all_of_them() -> None:
    nodes = [{"node": f"n-{i}", "fits": 2} for i in range(158)]
    answer = {"total": 316, "by_node": nodes, "explanation": explanation(), "answer": "316 fit."}
    assert drawn(capacity_view(answer)).splitlines()[-1] == "and 138 more nodes; -o wide lists them"  # type: ignore[arg-type]
    everything = drawn(capacity_view(answer, wide=True))  # type: ignore[arg-type]
    assert "n-157" in everything
    assert "more nodes" not in everything


def test_the_best_of_many_nodes_say_of_how_many() -> None:
    text = drawn(explanation_view(explanation()))
    assert "the best 2 of 37 nodes; why-not ranks any other" in text


def test_capacity_lists_the_nodes_or_says_why_there_are_none() -> None:
    some = {"total": 5, "by_node": [{"node": "n-1", "fits": 5}], "explanation": explanation(), "answer": "5 fit."}
    assert "n-1      5" in drawn(capacity_view(some))  # type: ignore[arg-type]
    none = {"total": 0, "by_node": [], "explanation": refused_everywhere(), "answer": "None fits."}
    assert "SHORT BY" in drawn(capacity_view(none))  # type: ignore[arg-type]
