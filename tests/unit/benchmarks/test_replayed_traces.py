"""How the traces of others become our work: which jobs count, and what a generator's file means."""

from typing import Any

import pytest
from benchmarks.harness import NotRun
from benchmarks.kueue_tas import _arrivals, _layout, _nodes, _queues
from benchmarks.philly_lingjun import _workload
from benchmarks.philly_trace import DAY_S, PhillyJob, Stretch, demand, scene_of

from dovetail.model.resources import CPU
from dovetail.model.workloads.workload import Priority

GENERATOR: dict[str, Any] = {
    "topology": {
        "levels": [
            {"name": "block", "count": 1, "nodeLabel": "example.com/block"},
            {"name": "rack", "count": 2, "nodeLabel": "example.com/rack"},
            {"name": "node", "count": 3, "capacity": {"cpu": "96", "memory": "256Gi"}},
        ]
    },
    "cohorts": [
        {
            "className": "cohort",
            "count": 2,
            "queuesSets": [
                {
                    "className": "cq",
                    "count": 3,
                    "nominalQuota": "20",
                    "borrowingLimit": "100",
                    "workloadsSets": [
                        {"count": 2, "creationIntervalMs": 100, "workloads": [{"className": "small", "priority": 50}]},
                        {"count": 1, "creationIntervalMs": 150, "workloads": [{"className": "large", "priority": 200}]},
                    ],
                }
            ],
        }
    ],
}
for _set in GENERATOR["cohorts"][0]["queuesSets"][0]["workloadsSets"]:
    _set["workloads"][0] |= {"runtimeMs": 200, "request": "500m", "podCount": 2, "tasConstraint": "required"}
    _set["workloads"][0]["tasLevel"] = "example.com/rack"


def test_racks_of_a_generator_are_labels_of_its_nodes() -> None:
    nodes = _nodes(GENERATOR["topology"])
    assert len({node.name for node in nodes}) == 6
    assert sorted({node.labels["example.com/rack"] for node in nodes}) == ["block0-rack0", "block0-rack1"]
    assert {node.capacity.amounts()[CPU] for node in nodes} == {96_000}


def test_a_cohort_holds_what_its_queues_are_guaranteed_together() -> None:
    queues = _queues(GENERATOR["cohorts"])
    assert list(queues) == ["cohort0", "cohort1"]
    assert queues["cohort0"].maximum.amounts() == queues["cohort0"].guarantee == {CPU: 60_000}
    assert queues["cohort0"].queues["cq1"].maximum.amounts() == {CPU: 120_000}


def test_every_set_of_every_queue_comes_at_its_own_interval() -> None:
    arrivals = _arrivals(GENERATOR["cohorts"])
    assert [at for at, _ in arrivals] == [0.1] * 6 + [0.15] * 6 + [0.2] * 6
    assert {(spec.name, spec.priority) for _, spec in arrivals} == {
        ("small-0", Priority.MEDIUM),
        ("small-1", Priority.MEDIUM),
        ("large-0", Priority.HIGH),
    }
    assert len({(spec.namespace, spec.name) for _, spec in arrivals}) == len(arrivals)


def test_balanced_work_prefers_one_rack_and_lies_evenly_in_it() -> None:
    rack = {"tasLevel": "rack", "tasConstraint": "balanced", "sliceSize": 1}
    assert _layout(rack) == {"preferred": "rack", "strategy": "spread", "slices": []}
    assert _layout(rack | {"sliceSize": 4})["slices"] == [{"size": 4, "within": "rack"}]
    assert _layout(rack | {"tasConstraint": "preferred"}) == {"preferred": "rack"}


def test_demand_is_what_jobs_that_never_wait_hold_on_average() -> None:
    jobs = [PhillyJob(0, 10, 8), PhillyJob(10, 100, 4)]
    assert demand(jobs, 0, 20, faster=1) == (10 * 8 + 10 * 4) / 20
    assert demand(jobs, 0, 20, faster=2) == (10 * 8 + 5 * 4) / 10  # run times stay as they were


def test_a_stretch_comes_as_fast_as_its_load_takes_and_begins_with_what_would_be_running() -> None:
    trace = [PhillyJob(day * DAY_S, hours * 3600.0, 4) for day, hours in ((0, 1), (9, 24), (11, 12), (14, 12), (30, 1))]
    scene = scene_of(trace, Stretch(10, 20, load=0.5), gpus=8)
    assert demand(trace[:-1], 13 * DAY_S, 20 * DAY_S, scene.faster) == pytest.approx(4.0, rel=1e-4)
    day_s = DAY_S / scene.faster
    assert (scene.begin, scene.end) == pytest.approx((3 * day_s, 10 * day_s))
    assert [job.submit_s for job in scene.jobs] == pytest.approx([0.0, day_s, 4 * day_s])
    assert [job.run_s for job in scene.jobs] == pytest.approx([24 * 3600 - day_s, 12 * 3600, 12 * 3600])


def test_a_stretch_that_never_asks_for_so_much_is_not_run() -> None:
    with pytest.raises(NotRun, match="never ask for 90%"):
        scene_of([PhillyJob(0, 10, 1)], Stretch(0, 10, load=0.9), gpus=1000)


def test_a_job_with_more_gpus_than_a_node_has_is_a_gang_that_prefers_one_switch_if_it_knows_of_switches() -> None:
    ours, blind = (_workload(0, PhillyJob(0, 60, 12), knows=knows) for knows in (True, False))
    assert (ours.replicas, ours.resources.gpu) == (blind.replicas, blind.resources.gpu) == (2, 6)
    assert ours.gang == blind.gang
    assert ours.topology is not None
    assert ours.topology.preferred == "ASW"
    assert blind.topology is None
    single = [_workload(0, PhillyJob(0, 60, 3), knows=knows) for knows in (True, False)]
    assert single[0] == single[1]
    assert single[0].gang is None
