"""Quotas in the engine: what a queue may hold, who is told what, and who is woken when it holds less."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene

from dovetail.model.event import TaskFinished


def limited(cpu: float, **more: Any) -> dict[str, Any]:
    return {"queues": {"team": {"maximum": {"cpu": cpu}} | more}}


def test_work_over_quota_waits_and_says_what_is_used_of_what() -> None:
    scene = Scene(**limited(3))
    scene.join("n1", cpu=16)
    scene.submit("a", cpu=2, queue="team")
    scene.submit("b", cpu=2, queue="team")
    assert scene.tick() == ["a.0"]
    assert scene.why("b") == ("over_quota", "queue team: cpu 2 of 3 in use, 2 asked")


def test_work_over_the_limit_of_a_parent_is_told_who_borrows() -> None:
    queues = {
        "lab": {
            "maximum": {"cpu": 8},
            "queues": {"ml": {"guaranteed": {"cpu": 2}}, "web": {"guaranteed": {"cpu": 4}}},
        }
    }
    scene = Scene(queues=queues, profiles={"balanced": {"preemption": False}})
    scene.join("n1", cpu=16)
    scene.run("train", cpu=1, replicas=7, queue="lab/ml")
    scene.submit("site", cpu=2, queue="lab/web")
    assert scene.tick() == []
    assert scene.why("site") == ("over_quota", "queue lab: cpu 7 of 8 in use, 2 asked; lab/ml borrows 5")


def test_work_that_asks_for_more_than_the_limit_itself_is_told_so() -> None:
    scene = Scene(**limited(3))
    scene.join("n1", cpu=16)
    scene.submit("a", cpu=4, queue="team")
    assert scene.tick() == []
    assert "it can never start" in scene.why("a")[1]


def test_each_user_has_a_limit_and_others_do_not_wait_for_one_who_reached_it() -> None:
    scene = Scene(queues={"team": {"user_limits": {"cpu": 2}}})
    scene.join("n1", cpu=16)
    scene.submit("a", replicas=3, queue="team", user="ann")
    scene.submit("b", replicas=3, queue="team", user="bob")
    scene.submit("c", replicas=3, queue="team")
    scene.submit("d", replicas=1, queue="team")
    assert sorted(scene.tick()) == ["a.0", "a.1", "b.0", "b.1", "c.0", "c.1"]
    assert scene.why("a") == ("over_quota", "user ann in queue team: cpu 2 of 2 in use, 1 asked")
    assert "user (none given) in queue team" in scene.why("d")[1]
    scene.end("b", 0)
    assert scene.tick() == ["b.2"]


def test_who_waits_over_quota_is_woken_when_the_queue_holds_less() -> None:
    scene = Scene(**limited(2))
    scene.join("n1", cpu=16)
    scene.submit("a", cpu=2, queue="team")
    scene.submit("b", cpu=2, queue="team")
    assert scene.tick() == ["a.0"]
    scene.end("a")
    assert scene.engine.busy
    assert scene.tick() == ["b.0"]


def test_all_that_fit_are_woken_when_much_comes_back_at_once() -> None:
    scene = Scene(**limited(4))
    scene.join("n1", cpu=16)
    scene.run("large", cpu=4, queue="team")
    for number in range(5):
        scene.submit(f"small{number}", cpu=1, queue="team")
    assert scene.tick() == []
    scene.end("large")
    assert scene.tick() == ["small0.0", "small1.0", "small2.0", "small3.0"]


def test_a_gang_too_large_for_what_came_back_does_not_keep_a_single_task_waiting() -> None:
    scene = Scene(**limited(4))
    scene.join("n1", cpu=16)
    scene.run("running", replicas=4, queue="team")
    scene.submit("gang", replicas=4, gang={"min": 4}, queue="team")
    scene.submit("single", queue="team")
    assert scene.tick() == []
    scene.end("running", 0)
    assert scene.tick() == ["single.0"]


def test_a_gang_counts_whole() -> None:
    scene = Scene(**limited(4))
    scene.join("n1", cpu=16)
    scene.run("a", cpu=1, queue="team")
    scene.submit("gang", cpu=1, replicas=4, gang={"min": 4}, queue="team")
    assert scene.tick() == []
    assert scene.why("gang") == ("over_quota", "queue team: cpu 1 of 4 in use, 4 asked")
    scene.end("a")
    assert len(scene.tick()) == 4


def test_an_elastic_gang_grows_up_to_the_quota() -> None:
    scene = Scene(**limited(3))
    scene.join("n1", cpu=16)
    scene.submit("gang", cpu=1, replicas=4, gang={"min": 2}, queue="team")
    assert len(scene.tick()) == 3
    assert scene.why("gang")[0] == "over_quota"
    scene.started("gang")
    scene.end("gang", 0)
    assert scene.tick() == ["gang.3"]


def test_work_over_quota_keeps_nobody_of_another_queue_waiting() -> None:
    scene = Scene(**limited(1), schedulers={"default": {"backfill": {"mode": "none"}}})
    scene.join("n1", cpu=16)
    scene.submit("a", replicas=2, queue="team")
    scene.submit("other", cpu=2)
    assert sorted(scene.tick()) == ["a.0", "other.0"]


def test_cancelling_the_first_that_was_woken_brings_the_next() -> None:
    scene = Scene(**limited(2))
    scene.join("n1", cpu=16)
    scene.run("running", cpu=2, queue="team")
    for name in ("a", "b"):
        scene.submit(name, cpu=2, queue="team")
    scene.tick()
    scene.end("running")
    scene.cancel("a")
    assert scene.tick() == ["b.0"]


def test_tasks_that_are_being_stopped_still_count() -> None:
    scene = Scene(**limited(2))
    scene.join("n1", cpu=16)
    scene.run("a", cpu=2, queue="team")
    scene.submit("b", cpu=2, queue="team")
    scene.tick()
    scene.cancel("a")
    assert scene.tick() == []
    scene.stopped("a")
    assert scene.tick() == ["b.0"]


def test_what_was_held_before_a_restart_counts_after_it() -> None:
    scene = Scene(**limited(3))
    scene.join("n1", cpu=16)
    scene.run("a", cpu=2, queue="team", user="ann")
    scene.submit("b", cpu=2, queue="team", user="ann")
    scene.restart()
    assert scene.tick() == []
    assert scene.why("b") == ("over_quota", "queue team: cpu 2 of 3 in use, 2 asked")
    scene.end("a")
    assert scene.tick() == ["b.0"]


@examples(30)
@given(
    work=st.lists(
        st.tuples(
            st.integers(1, 3), st.integers(1, 5), st.integers(0, 3), st.sampled_from("xy"), st.sampled_from(["u", None])
        ),
        min_size=2,
        max_size=8,
    ),
    picks=st.lists(st.integers(0, 1000), min_size=10, max_size=40),
)
def test_no_queue_and_no_user_ever_holds_more_than_allowed_and_all_that_may_run_do(
    work: list[tuple[int, int, int, str, str | None]], picks: list[int]
) -> None:
    tree = {"x": {"maximum": {"cpu": 4}}, "y": {"user_limits": {"cpu": 3}, "guaranteed": {"cpu": 1}}}
    scene = Scene(queues={"top": {"maximum": {"cpu": 6}, "queues": tree}})
    scene.join("n1", cpu=5)
    scene.join("n2", cpu=5)
    for number, (cpu, replicas, least, queue, user) in enumerate(work):
        gang = {"min": min(least, replicas)} if least else None
        scene.submit(f"w{number}", cpu, replicas=replicas, queue=f"top/{queue}", user=user, gang=gang)
    for pick in [*picks, *range(60)]:
        scene.tick(100)
        held: dict[tuple[str, str], int] = {}
        for one in scene.engine._state.work.values():
            cpu = dict(one.shape.amounts)["cpu"] * one.holding // 1000
            queue = scene.engine._state.router.queues[one.queue].path
            for key in (("queue", "top"), ("queue", queue), (queue, one.terms.user or "")):
                held[key] = held.get(key, 0) + cpu
        assert held.get(("queue", "top"), 0) <= 6
        assert held.get(("queue", "top/x"), 0) <= 4
        assert all(cpu <= 3 for (queue, _), cpu in held.items() if queue == "top/y")
        running = sorted(scene.engine._state.cluster.placements.by_task)
        if not running:
            break
        task = running[pick % len(running)]
        live = scene.engine._state.work[task.workload].tasks[task.replica]
        gone = None if live.state == "stopping" else 0
        scene.hear(TaskFinished(task, f"{task}.{live.attempt}", gone, ""))
    for one in scene.engine._state.work.values():
        together = max(1, one.gang_short) * dict(one.shape.amounts)["cpu"] // 1000
        most = 4 if scene.engine._state.router.queues[one.queue].path == "top/x" else 3
        assert together > most, f"{one.name} waits though it could run: {one.message}"
