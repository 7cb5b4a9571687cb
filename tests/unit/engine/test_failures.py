"""When placing or running fails: deadlines, pauses, promotion, and wishes that are given up."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.queueing.settings import BackoffSettings, backoff_s

# --- deadlines -----------------------------------------------------------------------------------------------


def test_work_that_is_not_placed_in_time_fails_with_the_reason_it_waited_for() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.submit("w", cpu=2, deadline={"schedule_within": "5m"})
    scene.tick()
    assert scene.wakes == [300.0]
    scene.tick(299)
    assert scene.record("w").state == "pending"
    scene.tick(1)
    assert scene.record("w").state == "failed"
    reason, message = scene.why("w")
    assert reason == "timeout"
    assert message.startswith("task 0: not placed within 300 s: ")
    assert "cpu short by 1" in message


def test_only_tasks_that_never_had_a_node_time_out() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.submit("w", replicas=3, retries=1, deadline={"schedule_within": "1m"})
    assert len(scene.tick()) == 2
    scene.started("w")
    scene.tick(50)
    scene.end("w", 0, code=1)
    scene.join("n1", cpu=1)
    scene.tick(20)
    record = scene.record("w")
    assert (record.failed, record.pending, record.active) == (1, 1, 1)
    scene.end("w", 1)
    assert scene.tick(1) == ["w.0"]


def test_a_deadline_that_was_met_does_no_harm() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", deadline={"schedule_within": "1m"})
    scene.tick(100)
    scene.end("w")
    assert scene.record("w").state == "succeeded"


def test_a_deadline_passes_also_during_a_restart() -> None:
    scene = Scene()
    scene.submit("w", deadline={"schedule_within": "1m"})
    scene.tick(30)
    scene.restart()
    scene.tick(31)
    assert scene.why("w")[0] == "timeout"


# --- pauses between tries ------------------------------------------------------------------------------------


def pauses_s(scene: Scene, name: str, tries: int) -> list[float]:
    """How long the task was kept waiting after each failure."""
    found = []
    for _ in range(tries):
        scene.started(name)
        scene.end(name, code=1)
        found.append(scene.work(name).delayed[0] - scene.now)
        assert scene.tick(found[-1] * 0.999) == []
        assert scene.tick(found[-1] * 0.002) == [f"{name}.0"]
    return found


def test_each_retry_waits_about_twice_as_long_as_the_one_before_up_to_the_most() -> None:
    scene = Scene(backoff={"first": 1, "most": 10, "jitter": 0.2})
    scene.join("n1")
    scene.run("w", retries=10)
    found = pauses_s(scene, "w", 6)
    for pause_s, plain_s in zip(found, [1, 2, 4, 8, 10, 10], strict=True):
        assert 0.8 * plain_s <= pause_s <= 1.2 * plain_s
    assert len(set(found)) == 6, "jitter makes them all different"


def test_the_same_seed_gives_the_same_pauses_and_another_seed_others() -> None:
    found = []
    for seed in (1, 1, 2):
        scene = Scene(seed=seed)
        scene.join("n1")
        scene.run("w", retries=10)
        found.append(pauses_s(scene, "w", 4))
    assert found[0] == pytest.approx(found[1])
    assert found[0] != pytest.approx(found[2], rel=1e-6)


def test_tasks_that_fail_at_one_moment_do_not_all_come_back_at_one_moment() -> None:
    settings = BackoffSettings()
    assert len({backoff_s(settings, 1, 0, f"1.{replica}") for replica in range(20)}) == 20


def test_the_message_says_how_often_it_was_tried_and_when_again() -> None:
    scene = Scene(backoff={"jitter": 0})
    scene.join("n1")
    scene.run("w", retries=3)
    scene.end("w", code=9)
    assert scene.why("w") == ("failed", "exit status 9; retry 1 of 3 in 1.0 s")


def test_a_pause_goes_on_after_a_restart() -> None:
    scene = Scene(backoff={"first": 100, "jitter": 0})
    scene.join("n1")
    scene.run("w", retries=3)
    scene.end("w", code=9)
    scene.tick(40)
    scene.restart()
    assert scene.tick(59) == []
    assert scene.tick(1) == ["w.0"]


def test_cancelling_during_a_pause_ends_it_for_good() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", retries=3)
    scene.end("w", code=9)
    scene.cancel("w")
    assert scene.record("w").state == "cancelled"
    assert scene.tick(1000) == []


# --- promotion -----------------------------------------------------------------------------------------------

PROMOTION: dict[str, Any] = {
    "promotion": {"after": "1h", "most": "medium"},
    "profiles": {"balanced": {"preemption": False}},
}


def test_waiting_long_raises_a_workload_class_by_class_up_to_the_most() -> None:
    scene = Scene(**PROMOTION)
    scene.submit("w", priority="batch")
    ranks = []
    for _ in range(4):
        scene.tick(3600)
        ranks.append(scene.work("w").rank)
    assert ranks == [3, 2, 2, 2]


def test_promoted_work_overtakes_what_came_later_with_a_higher_class() -> None:
    scene = Scene(**PROMOTION)
    scene.join("n1", cpu=1)
    scene.run("running")
    scene.submit("old", priority="batch")
    scene.tick(3600)
    scene.tick(3600)
    scene.submit("young", priority="medium")
    scene.tick()
    scene.end("running")
    assert scene.tick() == ["old.0"]


def test_a_restart_does_not_promote_sooner() -> None:
    scene = Scene(**PROMOTION)
    scene.submit("w", priority="batch")
    scene.tick(3600)
    scene.restart()
    scene.tick(1800)
    assert scene.work("w").rank == 3
    scene.tick(1800)
    assert scene.work("w").rank == 2


def test_work_that_runs_is_not_promoted_and_work_that_waits_again_is() -> None:
    scene = Scene(**PROMOTION)
    scene.join("n1", cpu=1)
    scene.run("w", priority="batch")
    scene.tick(7200)
    assert scene.work("w").rank == 4
    scene.leave("n1")
    scene.tick(3599)
    assert scene.work("w").rank == 4
    scene.tick(3601)
    assert scene.work("w").rank < 4


# --- wishes --------------------------------------------------------------------------------------------------


def wish(key: str, priority: int) -> dict[str, Any]:
    return {"match": [{"key": key, "operator": "Exists"}], "priority": priority}


def wishing() -> dict[str, Any]:
    return {"node_affinity": {"preferred": [wish("fast", 3), wish("near", 2), wish("cheap", 2), wish("green", 1)]}}


@pytest.mark.parametrize(
    ("labels", "given_up"),
    [
        (["fast", "near", "cheap", "green"], []),
        (["fast", "near", "cheap"], ["green"]),
        (["fast", "near"], ["green", "near", "cheap"]),
        (["fast"], ["green", "near", "cheap"]),
        ([], ["green", "near", "cheap", "fast"]),
    ],
)
def test_wishes_are_given_up_one_priority_at_a_time_and_the_decision_says_which(
    labels: list[str], given_up: list[str]
) -> None:
    scene = Scene()
    scene.join("n1", labels=dict.fromkeys(labels, "yes"))
    scene.submit("w", **wishing())
    assert scene.tick() == ["w.0"]
    notes = " ".join(scene.decisions[-1].explanation.notes)
    named = [word for word in ("green", "near", "cheap", "fast") if word in notes]
    assert named == given_up
    assert ("gave up" in notes) == bool(given_up)


def test_a_node_that_has_more_of_the_wishes_is_taken_before_any_is_given_up() -> None:
    scene = Scene()
    scene.join("plain", cpu=64)
    scene.join("wanted", labels=dict.fromkeys(["fast", "near", "cheap", "green"], "yes"))
    scene.submit("w", **wishing())
    scene.tick()
    assert scene.on("w") == ["wanted"]


def test_a_gang_gives_up_its_wishes_together() -> None:
    scene = Scene()
    scene.join("wanted", cpu=1, labels={"fast": "yes"})
    scene.join("plain", cpu=2)
    scene.submit("g", replicas=3, gang={"min": 3}, node_affinity={"preferred": [wish("fast", 1)]})
    assert len(scene.tick()) == 3


def test_what_cannot_be_had_even_without_the_wishes_waits_and_gives_up_nothing() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.submit("w", cpu=2, **wishing())
    assert scene.tick() == []
    assert scene.record("w").state == "pending"
