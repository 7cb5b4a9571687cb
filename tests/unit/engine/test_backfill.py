"""Backfilling in the engine: who may run ahead of a head that waits, and whose start may be delayed by whom."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene


def scene_with(mode: str, cpu: float = 4, nodes: int = 1, **more: Any) -> Scene:
    scene = Scene(schedulers={"default": {"backfill": {"mode": mode, **more}}}, default_profile="calm", profiles=CALM)
    for number in range(nodes):
        scene.join(f"n{number}", cpu=cpu)
    return scene


CALM = {"calm": {"order": "fifo", "preemption": False, "scores": {"best_fit": 1}}}


def lasting(seconds: float) -> dict[str, Any]:
    return {"deadline": {"run_for": seconds}}


# --- one head ------------------------------------------------------------------------------------------------


def test_easy_lets_later_work_run_ahead_if_it_ends_before_the_head_starts() -> None:
    scene = scene_with("easy")
    scene.run("running", cpu=2, **lasting(100))
    scene.submit("head", cpu=4, **lasting(50))
    scene.submit("too-long", cpu=2, **lasting(101))
    scene.submit("short", cpu=2, **lasting(100))
    assert scene.tick() == ["short.0"]
    assert scene.engine._state.promises.of_work[scene.ids["head"]].start == 100.0


def test_easy_lets_later_work_use_what_the_head_leaves_over() -> None:
    scene = scene_with("easy", cpu=8)
    scene.run("running", cpu=6, **lasting(100))
    scene.submit("head", cpu=6, **lasting(50))
    scene.submit("spare", cpu=2, **lasting(10_000))
    assert scene.tick() == ["spare.0"]


def test_without_spare_room_nobody_runs_beyond_the_start_of_the_head() -> None:
    scene = scene_with("easy", cpu=8, spare=False)
    scene.run("running", cpu=6, **lasting(100))
    scene.submit("head", cpu=6, **lasting(50))
    scene.submit("beyond", cpu=2, **lasting(10_000))
    scene.submit("before", cpu=2, **lasting(99))
    assert scene.tick() == ["before.0"]


def test_work_without_a_run_time_does_not_run_ahead_where_it_might_delay_the_head() -> None:
    scene = scene_with("easy")
    scene.run("running", cpu=2, **lasting(100))
    scene.submit("head", cpu=4, **lasting(50))
    scene.submit("unknown", cpu=2)
    assert scene.tick() == []


def test_behind_work_without_a_run_time_nothing_can_be_promised_and_nobody_is_held_back() -> None:
    scene = scene_with("easy")
    scene.run("running", cpu=2)
    scene.submit("head", cpu=4)
    scene.submit("later", cpu=2)
    assert scene.tick() == ["later.0"]
    assert not scene.engine._state.promises.of_work


def test_the_head_starts_earlier_than_promised_if_work_ends_earlier() -> None:
    scene = scene_with("easy")
    scene.run("running", cpu=2, **lasting(100))
    scene.submit("head", cpu=4, **lasting(50))
    scene.tick(10)
    scene.end("running")
    assert scene.tick() == ["head.0"]


def test_work_that_runs_longer_than_it_said_moves_the_promise_along_and_the_head_starts_when_it_ends() -> None:
    scene = scene_with("easy")
    scene.run("running", cpu=2, **lasting(100))
    scene.submit("head", cpu=4, **lasting(50))
    scene.tick()
    scene.tick(150)
    assert scene.engine._state.promises.of_work[scene.ids["head"]].start > 150
    scene.submit("long", cpu=2, **lasting(1000))
    assert scene.tick() == []
    scene.end("running")
    assert scene.tick() == ["head.0"]


def test_a_gang_at_the_head_is_promised_room_for_all_of_it() -> None:
    scene = scene_with("easy", cpu=2, nodes=3)
    scene.run("a", cpu=2, **lasting(100))
    scene.run("b", cpu=2, **lasting(200))
    scene.submit("gang", cpu=2, replicas=3, gang={"min": 3}, **lasting(50))
    scene.submit("long", cpu=2, **lasting(201))
    scene.submit("short", cpu=2, **lasting(199))
    assert scene.tick() == ["short.0"]
    assert scene.engine._state.promises.of_work[scene.ids["gang"]].start == 200.0


def test_off_starts_whatever_fits() -> None:
    scene = scene_with("off")
    scene.run("running", cpu=2, **lasting(100))
    scene.submit("head", cpu=4)
    scene.submit("later", cpu=2)
    assert scene.tick() == ["later.0"]


def test_none_lets_nobody_overtake_the_head() -> None:
    scene = scene_with("none")
    scene.run("running", cpu=2, **lasting(100))
    scene.submit("head", cpu=4, **lasting(50))
    scene.submit("short", cpu=1, **lasting(1))
    assert scene.tick() == []
    scene.end("running")
    assert scene.tick() == ["head.0"]
    scene.end("head")
    assert scene.tick() == ["short.0"]


def test_a_head_that_is_cancelled_hands_over_to_the_next() -> None:
    scene = scene_with("none")
    scene.run("running", cpu=2)
    scene.submit("head", cpu=4)
    scene.submit("next", cpu=2)
    scene.tick()
    scene.cancel("head")
    assert scene.tick() == ["next.0"]


def test_a_more_urgent_arrival_becomes_the_head_unless_the_head_is_sticky() -> None:
    for head, expected in (("first", "urgent"), ("sticky", "old")):
        scene = Scene(
            schedulers={"default": {"backfill": {"mode": "easy", "head": head}}},
            default_profile="calm",
            profiles={"calm": {"order": "priority", "preemption": False}},
        )
        scene.join("n1", cpu=4)
        scene.run("running", cpu=4, **lasting(100))
        scene.submit("old", cpu=4, priority="low", **lasting(50))
        scene.tick()
        scene.submit("urgent", cpu=4, priority="high", **lasting(50))
        scene.tick()
        assert scene.engine._state.backfill_states["default"].head == scene.ids[expected], head
        scene.tick(100)
        scene.end("running")
        assert scene.tick() == [f"{expected}.0"]


def test_a_head_whose_node_left_is_promised_room_elsewhere() -> None:
    scene = scene_with("easy", cpu=4, nodes=2)
    scene.run("a", cpu=4, **lasting(100))
    scene.run("b", cpu=4, **lasting(200))
    scene.submit("head", cpu=4, **lasting(50))
    scene.tick()
    (promised,) = {row for row, _ in scene.engine._state.promises.of_work[3].rows}
    scene.leave(scene.engine._state.cluster.names[promised])
    scene.tick()
    starts = {id_: promise.start for id_, promise in scene.engine._state.promises.of_work.items()}
    assert starts == {scene.ids["a"]: 200.0}, "what ran there came first and is the head now"


# --- conservative --------------------------------------------------------------------------------------------


def test_conservative_promises_a_start_to_everyone_and_delays_none_of_them() -> None:
    scene = scene_with("conservative")
    scene.run("running", cpu=2, **lasting(100))
    scene.submit("first", cpu=4, **lasting(50))
    scene.submit("second", cpu=3, **lasting(50))
    scene.submit("third", cpu=1, **lasting(200))
    scene.submit("fits-before", cpu=2, **lasting(100))
    assert scene.tick() == ["fits-before.0"]
    promises = scene.engine._state.promises.of_work
    starts = {name: promises[scene.ids[name]].start for name in ("first", "second", "third")}
    assert starts == {"first": 100.0, "second": 150.0, "third": 150.0}


def test_conservative_keeps_back_what_would_delay_the_second_and_easy_does_not() -> None:
    for mode, expected in (("conservative", []), ("easy", ["sneaky.0"])):
        scene = scene_with(mode, cpu=8)
        scene.run("running", cpu=6, **lasting(100))
        scene.submit("first", cpu=6, **lasting(100))
        scene.submit("second", cpu=8, **lasting(100))
        scene.submit("sneaky", cpu=2, **lasting(300))
        assert scene.tick() == expected, mode


def test_no_more_promises_are_made_than_the_depth_says() -> None:
    scene = scene_with("conservative", depth=2)
    scene.run("running", cpu=4, **lasting(100))
    for number in range(5):
        scene.submit(f"w{number}", cpu=4, **lasting(100))
    scene.tick()
    assert len(scene.engine._state.promises.of_work) == 2


# --- whatever comes ------------------------------------------------------------------------------------------

Job = tuple[int, int, int, int]  # cpu, seconds, tasks in a gang, seconds until the next one
JOBS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 20), st.integers(1, 3), st.integers(0, 9)), max_size=14)


class Played:
    """Jobs in order of arrival that run just as long as they said: when they started, and what they were promised."""

    def __init__(self, mode: str, jobs: list[Job], nodes: int = 2) -> None:
        self.scene = scene_with(mode, nodes=nodes)
        self.started: dict[int, float] = {}
        self.promised: dict[int, list[float]] = {}
        self.heads: list[int] = []
        ends: list[tuple[float, str]] = []
        arrivals: list[tuple[float, int]] = []
        at = 0.0
        for number, (_, _, _, pause_s) in enumerate(jobs, start=1):
            arrivals.append((at, number))
            at += pause_s
        while arrivals or ends or self.scene.engine._state.work:
            moments = [at for at, _ in (*arrivals, *ends)]
            if not moments:
                break
            self.scene.now = min(moments)
            for name in [name for at, name in ends if at <= self.scene.now]:
                self.scene.end_all(name)
            ends = [end for end in ends if end[0] > self.scene.now]
            for number in [number for at, number in arrivals if at <= self.scene.now]:
                cpu, run_s, tasks, _ = jobs[number - 1]
                self.scene.submit(f"j{number}", cpu, replicas=tasks, gang={"min": tasks}, **lasting(run_s))
            arrivals = [arrival for arrival in arrivals if arrival[0] > self.scene.now]
            for name in sorted({placed.split(".")[0] for placed in self.scene.tick()}):
                number = self.scene.ids[name]
                self.started[number] = self.scene.now
                self.scene.started(name)
                ends.append((self.scene.now + jobs[number - 1][1], name))
            for number, promise in self.scene.engine._state.promises.of_work.items():
                self.promised.setdefault(number, []).append(promise.start)


def fitting(jobs: list[Job], nodes: int) -> list[Job]:
    """Those that could ever run."""
    return [job for job in jobs if (4 // job[0]) * nodes >= job[2]]


@examples(60)
@given(jobs=JOBS)
@pytest.mark.parametrize("mode", ["easy", "conservative"])
def test_nobody_who_was_promised_a_start_starts_later_and_no_promise_gets_worse(mode: str, jobs: list[Job]) -> None:
    played = Played(mode, fitting(jobs, 2))
    for number, promised in played.promised.items():
        assert played.started[number] <= promised[0]
        assert promised == sorted(promised, reverse=True)


@examples(25)
@given(jobs=JOBS)
@pytest.mark.parametrize("mode", ["off", "none", "easy", "conservative"])
def test_everything_that_could_ever_run_does(mode: str, jobs: list[Job]) -> None:
    played = Played(mode, fitting(jobs, 2))
    assert set(played.started) == set(range(1, len(fitting(jobs, 2)) + 1))


@examples(40)
@given(jobs=JOBS)
def test_without_overtaking_starts_are_in_the_order_of_arrival(jobs: list[Job]) -> None:
    played = Played("none", fitting(jobs, 2))
    starts = [played.started[number] for number in sorted(played.started)]
    assert starts == sorted(starts)


@examples(40)
@given(jobs=JOBS)
def test_backfilling_starts_nobody_later_than_strict_order_would_where_all_is_promised(jobs: list[Job]) -> None:
    """On one node, where a later start of one never moves another to a worse place."""
    strict, conservative = Played("none", fitting(jobs, 1), 1), Played("conservative", fitting(jobs, 1), 1)
    for number, started in conservative.started.items():
        assert started <= strict.started[number]


def test_the_same_jobs_start_at_the_same_moments_again() -> None:
    chance = Random(7)
    jobs = [
        (chance.randint(1, 4), chance.randint(1, 20), chance.randint(1, 2), chance.randint(0, 5)) for _ in range(40)
    ]
    assert Played("easy", jobs).started == Played("easy", jobs).started
