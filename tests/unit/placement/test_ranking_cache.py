"""Ranking caches: when a shape gets one, how much they may hold, and that they notice what others did."""

import pytest
from tests.unit.placement.conftest import Offer
from tests.unit.placement.scene import choose, cluster_of, occupy, pipeline_of, request_for

from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline import pipeline as pipeline_module
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.pipeline import Pipeline
from dovetail.placement.pipeline.ranking_cache import RankingCache

HERE = "tests.unit.placement.outsiders"


def rows_by_both_ways(cluster: Cluster, pipeline: Pipeline, request: Request, task: str) -> set[int | None]:
    """The answer of a pipeline that keeps ranking caches, and of one that has never seen the shape."""
    fresh = Pipeline(pipeline.name, pipeline.settings, cluster)
    return {pipeline.decide(request, task, repeats=True).row, fresh.decide(request, task).row}


def test_a_shape_seen_for_the_second_time_gets_a_ranking_cache_and_the_same_answers() -> None:
    cluster = cluster_of({}, {}, {})
    pipeline = pipeline_of(cluster, scores={"least_loaded": 1})
    request = request_for(cluster, resources={"cpu": "100m"})
    rows = [choose(pipeline, cluster, request, i).row for i in range(9)]
    assert rows == [0, 1, 2] * 3


@pytest.mark.parametrize("bytes_held", [0, 2_000])
def test_ranking_caches_beyond_the_memory_bound_are_forgotten_without_harm(
    bytes_held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_module, "CACHE_BYTES", bytes_held)
    cluster = cluster_of(*[{}] * 5)
    pipeline = pipeline_of(cluster, scores={"least_loaded": 1})
    requests = [request_for(cluster, resources={"cpu": f"{100 + i}m"}) for i in range(8)]
    for step in range(24):
        request = requests[step % len(requests)]
        assert len(rows_by_both_ways(cluster, pipeline, request, "x")) == 1
        choose(pipeline, cluster, request, step, repeats=True)


def test_a_placement_made_by_somebody_else_is_noticed() -> None:
    cluster = cluster_of({}, {}, {})
    pipeline = pipeline_of(cluster, scores={"least_loaded": 1})
    request = request_for(cluster, resources={"cpu": 1})
    for i in range(3):
        choose(pipeline, cluster, request, i, repeats=True)
    occupy(cluster, 0, cpu=2)
    assert rows_by_both_ways(cluster, pipeline, request, "x") == {1}


def test_two_placements_between_decisions_are_both_counted() -> None:
    """A gang decides several tasks before it tells the pipeline of any."""
    cluster = cluster_of({}, {}, {})
    pipeline = pipeline_of(cluster, scores={"best_fit": 1})
    request = request_for(cluster, resources={"cpu": 1})
    for i in range(3):
        choose(pipeline, cluster, request, i, repeats=True)
    cluster.place(TaskId(2, 0), 1, request.column)
    cluster.place(TaskId(2, 1), 0, request.column)
    pipeline.placed(request, 0)
    assert rows_by_both_ways(cluster, pipeline, request, "x") == {1}


def test_nodes_that_come_and_go_are_noticed() -> None:
    cluster = cluster_of({}, {})
    pipeline = pipeline_of(cluster, scores={"least_loaded": 1})
    request = request_for(cluster, resources={"cpu": 1})
    for i in range(4):
        choose(pipeline, cluster, request, i, repeats=True)
    cluster.join(cluster.node("n0").model_copy(update={"name": "late"}))
    assert rows_by_both_ways(cluster, pipeline, request, "x") == {2}
    cluster.leave("late")
    assert rows_by_both_ways(cluster, pipeline, request, "x") == {0}


def test_an_outsider_that_counts_tasks_sees_each_one(offer: Offer) -> None:
    offer("other", {"dovetail.scores": {"counts_tasks": f"{HERE}:CountsTasks"}})
    cluster = cluster_of({}, {}, {})
    pipeline = pipeline_of(cluster, scores={"counts_tasks": 1})
    request = request_for(cluster)
    rows = []
    for i in range(6):
        row = pipeline.decide(request, str(i), repeats=True).row
        assert row is not None
        cluster.place(TaskId(1, i), row, request.column, ("default", "web"))
        pipeline.placed(request, row)
        rows.append(row)
    assert rows == [0, 1, 2, 0, 1, 2]


def test_a_shape_that_wants_to_be_near_others_is_evaluated_anew_each_time() -> None:
    cluster = cluster_of({}, {}, {})
    cluster.placements.directory["default", "ps"] = (7, 2)
    pipeline = pipeline_of(cluster, scores={"network_proximity": 1})
    request = request_for(cluster, affinity=[{"near": "ps"}])
    assert pipeline.decide(request, "x", repeats=True).row == 0
    occupy(cluster, 2, TaskId(7, 0))
    assert pipeline.decide(request, "x", repeats=True).row == 2


def test_a_node_that_changed_while_it_was_out_of_the_question_is_scored_when_it_comes_back() -> None:
    """Nothing but its status changes then, which the score does not read."""
    cluster = cluster_of({}, {}, {})
    pipeline = pipeline_of(cluster, scores={"least_loaded": 1})
    request = request_for(cluster, resources={"cpu": "100m"})
    occupy(cluster, 1, cpu=1)
    occupy(cluster, 2, TaskId(901, 0), cpu=2)
    assert pipeline.decide(request, "x", repeats=True).row == 0
    cluster.set_cordoned("n0", cordoned=True)
    assert pipeline.decide(request, "x", repeats=True).row == 1
    occupy(cluster, 0, TaskId(902, 0), cpu=3)
    assert pipeline.decide(request, "x", repeats=True).row == 1
    cluster.set_cordoned("n0", cordoned=False)
    assert rows_by_both_ways(cluster, pipeline, request, "x") == {1}
    fresh = pipeline_of(cluster, scores={"least_loaded": 1})
    kept = pipeline.decide(request, "x", repeats=True).explanation
    assert kept == fresh.decide(request, "x").explanation


def test_shapes_that_come_again_after_more_others_than_there_may_be_caches_get_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each would be made in vain: by the time its shape comes again, others have taken its place."""
    made: list[str] = []

    class Noticed(RankingCache):
        def __init__(self, request: Request, evaluator: Evaluator, cluster: Cluster) -> None:
            made.append(str(request.shape.amounts))
            super().__init__(request, evaluator, cluster)

    monkeypatch.setattr(pipeline_module, "RankingCache", Noticed)
    cluster = cluster_of({}, {})
    pipeline = pipeline_of(cluster, scores={"least_loaded": 1})
    shapes = pipeline_module.MAX_RANKING_CACHES + 1
    requests = [request_for(cluster, resources={"cpu": f"{1 + i}m"}) for i in range(shapes)]
    for task in range(2 * shapes):
        pipeline.decide(requests[task % shapes], str(task))
    assert not made
    pipeline.decide(requests[-1], "again")
    assert len(made) == 1
