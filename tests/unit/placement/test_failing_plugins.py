"""A plugin that fails is named and kept to itself; the scheduler goes on deciding."""

from typing import Any

import numpy as np
import pytest
from tests.unit.placement.conftest import Offer
from tests.unit.placement.outsiders import OddFilter, OddScore
from tests.unit.placement.scene import choose, cluster_of, occupy, pipeline_of, request_for

from dovetail.placement.pipeline.refusal import refusals

HERE = "tests.unit.placement.outsiders"


@pytest.fixture(autouse=True)
def _offered(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(
        "odd",
        {
            "dovetail.filters": {"odd_filter": f"{HERE}:OddFilter", "limit": f"{HERE}:Good"},
            "dovetail.scores": {"odd_score": f"{HERE}:OddScore", "by_row": f"{HERE}:ByRow"},
        },
    )
    monkeypatch.setattr(OddFilter, "answer", True)
    monkeypatch.setattr(OddScore, "answer", 0.0)


BAD_FOR_BOTH: list[tuple[Any, str]] = [
    (ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
    (None, "returned shape"),
    (lambda view: np.zeros(view.size + 1, dtype=np.bool_), "returned shape"),
    (lambda view: np.zeros((view.size, 1), dtype=np.bool_), "returned shape"),
    ("yes", "returned shape"),
]
BAD_SCORES: list[tuple[Any, str]] = [
    *BAD_FOR_BOTH,
    (True, "numbers, not bools"),
    (float("nan"), "returned nan"),
    (float("-inf"), "returned -inf"),
    (10**400, "returned 1000"),
    (lambda view: np.full(view.size, np.nan), "NaN"),
    (lambda view: np.full(view.size, np.inf), "infinite"),
    (lambda view: np.full(view.size, 1e300), "beyond 1e+09"),
    (lambda view: np.full(view.size, "high"), "could not convert"),
]
BAD_FILTERS: list[tuple[Any, str]] = [
    *BAD_FOR_BOTH,
    (1.0, "returned shape"),
    (lambda view: np.ones(view.size), "bools, not float64"),
    (lambda view: np.ones(view.size, dtype=np.int32), "bools, not int32"),
]


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(("answer", "words"), BAD_SCORES)
def test_a_score_that_fails_is_left_out_and_named(
    answer: Any, words: str, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OddScore, "answer", staticmethod(answer) if callable(answer) else answer)
    cluster = cluster_of({}, {}, {})
    pipeline = pipeline_of(cluster, scores={"odd_score": -1000, "by_row": 1})
    choice = choose(pipeline, cluster, request_for(cluster), 0, repeats=repeats)
    assert choice.row == 2, "the other score decides"
    assert choice.explanation.best[0].points[0] == 0.0
    (note,) = choice.explanation.notes
    assert note.startswith("plugin 'odd_score' failed: ")
    assert words in note
    assert pipeline.evaluator.failures["odd_score"] >= 1


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(("answer", "words"), BAD_FILTERS)
def test_a_filter_that_fails_refuses_every_node_and_says_so(
    answer: Any, words: str, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OddFilter, "answer", staticmethod(answer) if callable(answer) else answer)
    cluster = cluster_of({}, {})
    pipeline = pipeline_of(cluster, filters=["odd_filter"])
    choice = choose(pipeline, cluster, request_for(cluster), 0, repeats=repeats)
    assert choice.row is None
    explanation = choice.explanation
    assert explanation.outcome == "plugin_failed"
    assert explanation.message.startswith("plugin 'odd_filter' failed: ")
    assert words in explanation.message
    assert explanation.notes == (explanation.message,)
    assert [step.remaining for step in explanation.funnel] == [2] * 11 + [0, 0, 0, 0]


@pytest.mark.parametrize("repeats", [False, True])
def test_a_profile_may_choose_to_skip_a_filter_that_fails(repeats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OddFilter, "answer", ValueError("oh"))
    cluster = cluster_of({}, {})
    pipeline = pipeline_of(cluster, filters=["odd_filter"], on_filter_error="skip")
    choice = choose(pipeline, cluster, request_for(cluster), 0, repeats=repeats)
    assert choice.row == 0
    assert choice.explanation.notes == ("plugin 'odd_filter' failed: ValueError: oh",)


def test_one_node_is_refused_with_the_failure_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OddFilter, "answer", ValueError("oh"))
    cluster = cluster_of({})
    pipeline = pipeline_of(cluster, filters=["odd_filter"])
    (refused,) = refusals(request_for(cluster), pipeline.evaluator, cluster, 0)
    assert (refused.filter, refused.reason) == ("odd_filter", "plugin_failed")
    assert refused.message == "plugin 'odd_filter' failed: ValueError: oh"


def test_a_filter_that_cannot_say_why_still_counts_as_having_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OddFilter, "answer", False)
    cluster = cluster_of({})
    pipeline = pipeline_of(cluster, filters=["odd_filter"])
    explanation = pipeline.decide(request_for(cluster), "1.0").explanation
    assert explanation.outcome == "odd"
    assert "failed to say why: RuntimeError: lost for words" in explanation.message
    (refused,) = refusals(request_for(cluster), pipeline.evaluator, cluster, 0)
    assert refused.reason == "odd"


def test_a_filter_that_starts_failing_while_a_task_waits_for_room_does_not_stop_the_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The waiting task was refused for want of room; asking the filters again must not be needed to say so."""
    cluster = cluster_of({})
    pipeline = pipeline_of(cluster, filters=["odd_filter"])
    request = request_for(cluster, resources={"cpu": 64})
    assert pipeline.decide(request, "1.0", repeats=True).explanation.outcome == "insufficient_resources"
    monkeypatch.setattr(OddFilter, "answer", ValueError("oh"))
    assert pipeline.decide(request, "1.0", repeats=True).explanation.outcome == "insufficient_resources"
    cluster.join(cluster.node("n0"))  # its labels may have changed, so the failing filter is asked again
    assert pipeline.decide(request, "1.0", repeats=True).explanation.outcome == "plugin_failed"
    monkeypatch.setattr(OddFilter, "answer", True)
    cluster.join(cluster.node("n0"))
    assert pipeline.decide(request, "1.0", repeats=True).explanation.outcome == "insufficient_resources"


def test_a_score_that_fails_for_some_rows_only_is_left_out_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the rows evaluated again after a change would be compared with points the rest did not lose."""
    fails_for_few = staticmethod(lambda view: np.full(view.size, 1.0) if view.size > 2 else None)
    monkeypatch.setattr(OddScore, "answer", fails_for_few)
    cluster = cluster_of({}, {}, {})
    pipeline = pipeline_of(cluster, scores={"odd_score": 1, "by_row": 1})
    request = request_for(cluster, resources={"cpu": 1})
    rows = [choose(pipeline, cluster, request, i, repeats=True).row for i in range(12)]
    assert rows == [2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0]


def test_a_good_filter_of_an_outsider_works_beside_the_built_in_ones() -> None:
    cluster = cluster_of({}, {})
    occupy(cluster, 0)
    pipeline = pipeline_of(cluster, filters=["limit"], settings={"limit": {"most": 1}}, scores={"best_fit": 1})
    assert choose(pipeline, cluster, request_for(cluster), 0).row == 1
    refused = choose(pipeline, cluster, request_for(cluster), 1)
    assert refused.explanation.outcome == "too_many_tasks"
    assert refused.explanation.message == "n0 already runs 1 tasks, such as on n0; limit refuses all of 2 nodes"
