"""The sentences: one for each thing that can be the case."""

from typing import Any

from dovetail.api.nodes.amounts import node_in_words
from dovetail.api.questions import sentences
from dovetail.engine.planning.plan import Displacement, PlannedTask, Victim
from dovetail.engine.questions.explanation_questions import WhyNot
from dovetail.engine.questions.node_questions import NodeUse
from dovetail.engine.questions.plan_questions import FreeCapacity
from dovetail.model.reason import Eviction, Explanation, FunnelStep, NodePoints, Refused
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority, Workload


def row(**changes: Any) -> dict[str, Any]:
    found = {
        "name": "job",
        "state": "running",
        "replicas": 1,
        "pending": 0,
        "active": 1,
        "succeeded": 0,
        "failed": 0,
        "cancelled": 0,
        "message": "",
        "finished_at": None,
    }
    return found | changes


def explanation(*best: NodePoints, message: str = "no room") -> Explanation:
    return Explanation(
        outcome="placed" if best else "insufficient_resources",
        message=message,
        profile="balanced",
        nodes=10,
        funnel=(FunnelStep("ready", 9, ""), FunnelStep("resources", 3 if best else 0, "")),
        weights=(("load", 1.0),),
        best=best,
    )


def job(replicas: int, **fields: Any) -> Workload:
    return Workload.model_validate({"name": "job", "replicas": replicas, **fields})


A, B = NodePoints("a", 80.0, (1.0,), 0.1), NodePoints("b", 70.0, (0.9,), 0.2)


def decided(*best: NodePoints) -> dict[str, Any]:
    return {"node": best[0].node, "explanation": explanation(*best).to_dict()}


def test_running_work_tells_where_and_against_whom() -> None:
    assert sentences.explained(row(), decided(A, B), None, None) == (
        "job is running on a, chosen by balanced from 3 of 10 nodes that could take it with 80.00 points "
        "(next: b, 70.00)."
    )
    assert "(as many as c)" in sentences.explained(row(), decided(A, NodePoints("c", 80.0, (1.0,), 0.1)), None, None)


def test_work_whose_backend_is_in_trouble_says_so() -> None:
    starting = row(state="starting")
    told = sentences.explained(starting, decided(A), None, None, trouble="its backend b cannot be used now: no route")
    assert told.endswith(", and has not started: its backend b cannot be used now: no route.")


def test_a_gang_tells_its_strategy_and_not_the_score_of_one_node() -> None:
    told = explanation(A, message="placed on a, with all 2 tasks in rack r: chosen by strategy pack with 75 points")
    decision = {"node": "a", "explanation": told.to_dict()}
    assert sentences.explained(row(replicas=2, active=2), decision, None, None) == (
        "job is running with 2 tasks; the latest went to a, with all 2 tasks in rack r: chosen by strategy pack with "
        "75 points."
    )


def test_work_of_which_some_tasks_have_ended_says_so() -> None:
    told = sentences.explained(row(replicas=4, active=2, succeeded=1, failed=1), decided(A), None, None)
    assert told.startswith("job is running with 2 tasks, 1 succeeded, 1 failed; the latest went to a")


def test_work_over_its_quota_that_no_node_could_take_names_the_nodes_first() -> None:
    waiting = row(state="pending", pending=1, active=0, reason="over_quota", message="queue ml: gpu 8 of 8 in use")
    assert sentences.explained(waiting, None, explanation().to_dict(), 1) == (
        "job waits, number 1 in the queue: no room; and queue ml: gpu 8 of 8 in use."
    )
    assert sentences.explained(waiting, None, None, 1).endswith("in the queue: queue ml: gpu 8 of 8 in use.")


def test_waiting_work_tells_its_place_and_what_is_missing() -> None:
    waiting = row(state="pending", pending=1, active=0)
    assert sentences.explained(waiting, None, explanation().to_dict(), 4) == (
        "job waits, number 4 in the queue: no room."
    )
    assert "it fits now, best on a" in sentences.explained(waiting, None, explanation(A).to_dict(), 1)
    assert sentences.explained(waiting, None, None, None) == "job waits: it has not been looked at yet."


def test_work_that_is_partly_placed_tells_both_parts() -> None:
    partly = row(replicas=40, pending=9, active=31)
    assert sentences.explained(partly, None, explanation().to_dict(), 2) == (
        "job is running: 31 of 40 tasks hold a node, 9 wait, number 2 in the queue: no room."
    )


def test_finished_work_tells_how_it_ended() -> None:
    assert sentences.explained(row(state="succeeded", finished_at=1.0), None, None, None) == "job succeeded."
    ended = row(state="failed", finished_at=1.0, replicas=3, succeeded=2, failed=1, message="task 1: exit status 3")
    assert sentences.explained(ended, None, None, None) == "job failed (2 succeeded, 1 failed): task 1: exit status 3."


def test_why_not_names_refusals_or_the_rank() -> None:
    refused = Refused("resources", "insufficient_resources", "cpu: needs 4, 1 free", Eviction.HELPS)
    assert sentences.why_not("job", WhyNot("b", [refused], None, 3, "a", explanation(A)), 1.0, False) == (
        "b cannot take job: cpu: needs 4, 1 free. Moving other work away would help."
    )
    assert sentences.why_not("job", WhyNot("b", [], 2, 3, "a", explanation(A, B)), 70.0, False) == (
        "b can take job but is number 2 of 3 nodes: 70.00 points against 80.00 of a."
    )
    assert "best of 3 nodes" in sentences.why_not("job", WhyNot("a", [], 1, 3, "a", explanation(A)), 80.0, False)
    assert "does have a task on a" in sentences.why_not("job", WhyNot("a", [], 1, 3, "a", explanation(A)), 80.0, True)


def test_a_plan_tells_how_far_it_came() -> None:
    placed = [PlannedTask(i, "ab"[i % 2], explanation(A)) for i in range(3)]
    stuck = PlannedTask(3, None, explanation())
    assert sentences.planned(job(1), placed[:1]) == "job would go to a."
    assert sentences.planned(job(3), placed) == "All 3 tasks of job would be placed, on 2 nodes."
    assert sentences.planned(job(5000), placed) == (
        "The first 3 of 5,000 tasks of job would be placed, on 2 nodes; for all of them: dovetail plan --tasks 5000."
    )
    assert sentences.planned(job(9), [*placed, stuck]) == (
        "3 of 9 tasks of job would be placed, on 2 nodes; the rest would wait: no room."
    )
    assert sentences.planned(job(2), [stuck]) == "job would wait: no room."


def test_a_plan_counts_only_tasks_that_may_run_at_once() -> None:
    placed = [PlannedTask(i, "ab"[i % 2], explanation(A)) for i in range(3)]
    stuck = PlannedTask(3, None, explanation())
    assert sentences.planned(job(50, concurrency=3), placed) == (
        "All of the 3 tasks of job that may run at once would be placed, on 2 nodes."
    )
    assert sentences.planned(job(50, concurrency=9), [*placed, stuck]).startswith(
        "3 of the 9 tasks of job that may run at once would be placed"
    )


def test_a_plan_names_who_would_have_to_give_way_and_what_is_lost() -> None:
    stuck = PlannedTask(0, None, explanation())
    victims = [Victim(TaskId(7, i), "default", "nightly", Priority.BATCH, f"n{i}", 125.0) for i in range(5)]
    assert sentences.planned(job(1), [stuck], Displacement(1, tuple(victims[:1]))) == (
        "job would wait: no room. It would preempt 1 task: nightly.0 (batch, 2 m of work lost) on n0."
    )
    said = sentences.planned(job(8, gang={"min": 8}), [stuck], Displacement(8, tuple(victims)))
    assert "It would preempt 5 tasks, so that 8 tasks fit: nightly.0" in said
    assert said.endswith("on n2 and 2 more.")


def test_a_plan_of_work_that_follows_other_work_says_so_first() -> None:
    placed = [PlannedTask(0, "a", explanation(A))]
    said = sentences.planned(job(1, after=[{"workload": "prepare"}]), placed)
    assert said == "job would start after prepare (succeeded); as things are now: job would go to a."


def test_what_waiting_work_waits_for_is_one_line() -> None:
    assert sentences.waits_for("", "") == "its turn"
    assert sentences.waits_for("over_quota", "queue ml: gpu 8 of 8 in use, 2 asked") == (
        "over quota: queue ml: gpu 8 of 8 in use, 2 asked"
    )
    assert sentences.waits_for("dependency", "starts after prepare (succeeded)") == "starts after prepare (succeeded)"


def test_room_that_is_promised_to_others_is_why_work_waits_although_a_node_could_take_it() -> None:
    now = explanation(A).to_dict()
    waiting = row(state="pending", pending=1, active=0)
    assert "it fits now" in sentences.explained(waiting, None, now, 1)
    said = sentences.explained(waiting, None, now, 1, "all nodes with room are promised to big")
    assert said == "job waits, number 1 in the queue: all nodes with room are promised to big."


def test_room_tells_the_total_and_where_most_fit() -> None:
    assert sentences.fitting(FreeCapacity(5, [("a", 3), ("b", 2)], explanation(A, B))) == (
        "5 more of these fit, on 2 nodes; the most on a (3)."
    )
    assert sentences.fitting(FreeCapacity(0, [], explanation())) == "None of these fits now: no room."


def test_a_node_in_words_keeps_the_unit_it_was_described_in() -> None:
    use = NodeUse(
        name="n",
        backend="local",
        online=False,
        cordoned=False,
        quarantined=False,
        drained=False,
        available=True,
        reason="silent for 40 s",
        labels={"zone": "east"},
        taints=["dedicated=gpu:NoSchedule"],
        capacity={"cpu": 16_000, "memory": 32 * 2**30, "gpu": 8000, "vendor.com/fpga": 2, "slots": 110},
        allocated={"cpu": 1500, "memory": 8 * 2**30, "gpu": 1000},
        reserved={"cpu": 2000},
        observed={"memory": 3 * 2**30},
        load=0.1,
        tasks=2,
    )
    assert node_in_words(use).splitlines() == [
        "Node: n",
        "Status: offline (silent for 40 s)",
        "Backend: local",
        "CPU: 1.5/16 (9.4% used)",
        "Memory: 8.0 GiB/32.0 GiB (25.0% used)",
        "Disk: 0.0 GiB/0.0 GiB",
        "GPU: 1/8 (12.5% used)",
        "vendor.com/fpga: 0/2 (0.0% used)",
        "Running tasks: 2 of at most 110",
        "Reserved: cpu 2",
        "Measured use: memory 3GiB",
        "Taints: dedicated=gpu:NoSchedule",
        "Labels: zone=east",
    ]
