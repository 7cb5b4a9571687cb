"""How the traces of others become our work: which jobs count, and what a generator's file means."""

from typing import Any

import pytest
from benchmarks.harness import NotRun
from benchmarks.kueue_tas import _arrivals, _layout, _nodes, _queues
from benchmarks.philly_lingjun import PhillyJob, _workload, busy_window

from dovetail.model.resources import CPU
from dovetail.model.workload import Priority

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


def test_the_busy_window_is_the_longest_in_which_the_jobs_want_most_of_the_gpus() -> None:
    jobs = [PhillyJob(0, 10, 8), PhillyJob(20, 5, 2), PhillyJob(30, 100, 4), PhillyJob(40, 100, 4), PhillyJob(90, 5, 1)]
    assert busy_window(jobs, 10) == (40, 90)
    with pytest.raises(NotRun):
        busy_window(jobs, 1000)


def test_a_job_with_more_gpus_than_a_node_has_is_a_gang_that_prefers_one_switch_if_it_knows_of_switches() -> None:
    ours, blind = (_workload(0, PhillyJob(0, 60, 12), knows=knows) for knows in (True, False))
    assert (ours.replicas, ours.resources.gpu) == (blind.replicas, blind.resources.gpu) == (2, 6)
    assert ours.gang == blind.gang
    assert ours.topology is not None
    assert ours.topology.preferred == "ASW"
    assert blind.topology is None
    assert _workload(0, PhillyJob(0, 60, 3), knows=True).gang is None
