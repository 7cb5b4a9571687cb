"""The world on a clock that the test holds in its hand."""

import math
from typing import Any

import pytest

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.simulated import world as world_module
from dovetail.backends.simulated.fleet import fleet
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.backends.simulated.world import World
from dovetail.model.command import attempt_key
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeObserved, TaskFinished, TaskStarted
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

NODES = [{"prefix": "n", "count": 3, "capacity": {"cpu": 8}}]
ALL = 10**9


def new_world(remembered: int = 100, **fields: Any) -> World:
    fixed = {"groups": NODES, "run_time": {"median": 10, "sigma": 0}}
    settings = SimulatedSettings.model_validate(fixed | fields)
    return World(settings, fleet(settings, "sim"), now=0.0, remembered=remembered)


def attempt(number: int = 1, node: str = "n-1", tries: int = 1, **fields: Any) -> Assignment:
    task = TaskId(number, 0)
    spec = Workload.model_validate({"name": f"w{number}", "resources": {"cpu": 2}} | fields)
    return Assignment(attempt_key(task, tries), task, node, spec)


def finished(assignment: Assignment, exit_code: int | None, reason: str) -> TaskFinished:
    return TaskFinished(assignment.task, assignment.key, exit_code, reason)


def started(assignment: Assignment) -> TaskStarted:
    return TaskStarted(assignment.task, assignment.key)


def about(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_an_attempt_starts_after_its_delays_and_ends_after_its_run_time() -> None:
    world, one = new_world(bind_delay=1, start_delay=2), attempt()
    assert world.bind(one, 100.0) == 101.0
    assert world.next_due() == 103.0
    assert world.advance(102.9, ALL) == []
    assert world.advance(103.0, ALL) == [started(one)]
    assert world.next_due() == 113.0
    assert world.advance(113.0, ALL) == [finished(one, 0, "exit status 0")]
    assert world.next_due() == math.inf


def test_a_late_look_at_the_clock_does_not_make_anything_later() -> None:
    world, one = new_world(), attempt()
    world.bind(one, 0.0)
    assert world.advance(5.0, ALL) == [started(one)]
    assert world.next_due() == 10.0


def test_binding_twice_equals_binding_once() -> None:
    world, one = new_world(), attempt()
    world.bind(one, 0.0)
    world.bind(one, 0.0)
    assert world.advance(1.0, ALL) == [started(one)]
    world.bind(one, 1.0)
    assert world.advance(100.0, ALL) == [finished(one, 0, "exit status 0")]


def test_binding_what_has_ended_says_again_how_it_ended_and_starts_nothing() -> None:
    world, one = new_world(), attempt(run={"simulate": {"run_time": 1, "exit_code": 4}})
    world.bind(one, 0.0)
    world.advance(50.0, ALL)
    world.bind(one, 60.0)
    assert world.advance(1000.0, ALL) == [finished(one, 4, "exit status 4")]


def test_a_stopped_attempt_ends_at_once_and_is_refused_from_then_on() -> None:
    world, one = new_world(forever=True), attempt()
    world.bind(one, 0.0)
    world.advance(1.0, ALL)
    world.stop(one.key, "cancelled", 2.0)
    assert world.next_due() == -math.inf
    assert world.advance(2.0, ALL) == [finished(one, None, "cancelled")]
    with pytest.raises(Refusal, match="cancelled"):
        world.bind(one, 3.0)
    assert world.advance(1000.0, ALL) == []


def test_an_attempt_stopped_before_it_started_never_starts() -> None:
    world, one = new_world(start_delay=5), attempt()
    world.bind(one, 0.0)
    world.stop(one.key, "evicted", 1.0)
    assert world.advance(1000.0, ALL) == [finished(one, None, "evicted")]


def test_stopping_a_key_never_heard_of_is_reported_and_bars_it() -> None:
    world, one = new_world(), attempt()
    world.stop(one.key, "cancelled", 0.0)
    assert world.advance(0.0, ALL) == [finished(one, None, "cancelled")]
    with pytest.raises(Refusal):
        world.bind(one, 1.0)


def test_stopping_what_has_ended_says_again_how_it_ended() -> None:
    world, one = new_world(), attempt()
    world.bind(one, 0.0)
    world.advance(50.0, ALL)
    world.stop(one.key, "cancelled", 60.0)
    assert world.advance(60.0, ALL) == [finished(one, 0, "exit status 0")]


def test_stopping_what_is_no_key_says_what_a_key_looks_like() -> None:
    with pytest.raises(ValueError, match="not the key of an attempt"):
        new_world().stop("nonsense", "cancelled", 0.0)


def test_an_unknown_node_is_refused() -> None:
    world = new_world()
    with pytest.raises(Refusal, match="no simulated node 'n-9'"):
        world.bind(attempt(node="n-9"), 0.0)


def test_a_retry_is_another_attempt() -> None:
    world, first, second = new_world(), attempt(tries=1), attempt(tries=2)
    world.bind(first, 0.0)
    world.stop(first.key, "evicted", 1.0)
    world.bind(second, 2.0)
    assert world.advance(2.0, ALL)[-1] == started(second)


def test_an_attempt_from_an_earlier_life_is_taken_to_run_with_its_time_begun_anew() -> None:
    world, one = new_world(start_delay=5), attempt()
    world.reconcile([one], 1000.0)
    assert world.advance(1000.0, ALL) == [started(one)]
    assert world.next_due() == 1010.0
    world.bind(one, 1001.0)
    assert world.advance(1010.0, ALL) == [finished(one, 0, "exit status 0")]


def test_reconcile_says_again_what_is_known() -> None:
    world, runs, ended, waits = new_world(start_delay=5), attempt(1), attempt(2), attempt(3)
    world.bind(ended, 0.0)
    world.bind(runs, 10.0)
    world.advance(15.0, ALL)
    world.bind(waits, 16.0)
    world.reconcile([runs, ended, waits], 16.0)
    assert world.advance(16.0, ALL) == [started(runs), finished(ended, 0, "exit status 0")]


def test_an_attempt_whose_node_is_no_more_is_reported_lost() -> None:
    world, one = new_world(), attempt(node="n-9")
    world.reconcile([one], 0.0)
    assert world.advance(0.0, ALL) == [finished(one, None, "simulated node n-9 is gone")]


def test_a_node_that_fails_takes_its_attempts_with_it_and_comes_back() -> None:
    world = new_world(forever=True, node_failures={"mean_time_between": "1h", "repair_time": "5m"})
    placed = {f"n-{number}": attempt(number, f"n-{number}") for number in (1, 2, 3)}
    for one in placed.values():
        world.bind(one, 0.0)
    world.advance(0.0, ALL)
    failed_at = world.next_due()
    down, lost = world.advance(failed_at, ALL)
    assert isinstance(down, NodeHealthChanged)
    assert not down.online
    one = placed[down.name]
    assert lost == finished(one, None, f"its node {down.name} failed")
    with pytest.raises(Refusal, match="is down"):
        world.bind(attempt(9, down.name), failed_at)
    assert about(world.introduce(), NodeHealthChanged) == [down]
    back = about(world.advance(failed_at + 300.0, ALL), NodeHealthChanged)
    assert NodeHealthChanged(down.name, online=True, reason="repaired") in back


def test_failures_go_on_and_each_is_followed_by_a_repair() -> None:
    world = new_world(node_failures={"mean_time_between": "1h", "repair_time": "5m"})
    events = about(world.advance(3600.0 * 1000, ALL), NodeHealthChanged)
    for name in ("n-1", "n-2", "n-3"):
        states = [event.online for event in events if event.name == name]
        assert states[:-1] == ([False, True] * len(states))[: len(states) - 1]
        assert 1600 < len(states) < 2100  # a thousand hours, an hour up and five minutes down on average


def test_two_worlds_of_one_seed_are_the_same_and_of_two_seeds_are_not() -> None:
    def story(seed: int) -> list[Event]:
        world = new_world(
            seed=seed, run_time={"median": 60, "sigma": 1}, failure_rate=0.3, observe={"every": 10},
            node_failures={"mean_time_between": 100},
        )  # fmt: skip
        for number in range(50):
            world.bind(attempt(number, f"n-{number % 3 + 1}"), 0.0)
        return world.advance(500.0, ALL)

    assert story(1) == story(1)
    assert story(1) != story(2)


def test_observed_use_is_a_share_of_what_running_attempts_asked_for() -> None:
    world = new_world(forever=True, observe={"every": 10, "least_share": 0.5, "most_share": 0.6})
    world.bind(attempt(1, "n-1"), 0.0)
    world.bind(attempt(2, "n-1"), 0.0)
    seen = about(world.advance(9.9, ALL), NodeObserved)
    assert {event.name for event in seen} == {"n-1", "n-2", "n-3"}
    used = {event.name: event.used for event in seen}
    assert 2000 <= used["n-1"]["cpu"] <= 2400
    assert used["n-1"]["slots"] == 2
    assert used["n-2"] == {}


def test_nothing_is_observed_unless_asked() -> None:
    world = new_world()
    world.bind(attempt(), 0.0)
    assert about(world.advance(3600.0, ALL), NodeObserved) == []


def test_a_slice_plays_no_more_than_it_was_allowed_and_forgets_nothing() -> None:
    world = new_world(forever=True)
    for number in range(10):
        world.bind(attempt(number), 0.0)
    assert [len(world.advance(0.0, 4)) for _ in range(4)] == [4, 4, 2, 0]


def test_memory_of_ended_attempts_is_bounded() -> None:
    world = new_world(remembered=5)
    for number in range(20):
        world.bind(attempt(number), 0.0)
    world.advance(100.0, ALL)
    remembered = []
    for number in range(20):
        try:
            world.logs(attempt(number).key, 100.0, 0, 100)
        except KeyError:
            continue
        remembered.append(number)
    assert remembered == [15, 16, 17, 18, 19]


def test_what_stopped_attempts_had_planned_does_not_pile_up() -> None:
    world = new_world(run_time={"median": "1d", "sigma": 0})
    for number in range(10 * world_module.FEW_STALE):
        one = attempt(number)
        world.bind(one, 0.0)
        world.advance(0.0, ALL)
        world.stop(one.key, "cancelled", 0.0)
    assert len(world._agenda) <= 2 * world_module.FEW_STALE


def test_introduce_tells_all_nodes_and_what_runs() -> None:
    world, runs = new_world(), attempt(1)
    world.bind(runs, 0.0)
    world.advance(0.0, ALL)
    world.bind(attempt(2), 0.0)
    told = world.introduce()
    assert [event.node.name for event in about(told, NodeJoined)] == ["n-1", "n-2", "n-3"]
    assert about(told, TaskStarted) == [started(runs)]


def test_a_log_only_grows_and_can_be_read_in_pieces() -> None:
    world, one = new_world(), attempt(run={"command": ["python", "my träin.py"]})
    world.bind(one, 0.0)
    assert world.logs(one.key, 0.0, 0, 1000).text == ""
    world.advance(0.0, ALL)
    early = world.logs(one.key, 4.0, 0, 1000)
    assert not early.ended
    world.advance(10.0, ALL)
    whole = world.logs(one.key, 11.0, 0, 10_000)
    assert whole.ended
    assert whole.text.startswith(early.text)
    assert [line.split(" ", 1)[1] for line in whole.text.splitlines()] == [
        "w1 starts on n-1: python 'my tr\\xe4in.py'", "25% done", "50% done", "75% done", "ends: exit status 0",
    ]  # fmt: skip
    pieces, offset, ended = "", 0, False
    while not ended:
        piece = world.logs(one.key, 11.0, offset, 7)
        pieces, offset, ended = pieces + piece.text, piece.next_offset, piece.ended
    assert pieces == whole.text
    assert world.logs(one.key, 11.0, 10**9, 10).text == ""


def test_the_log_of_an_endless_attempt_stays_short() -> None:
    world, one = new_world(forever=True), attempt()
    world.bind(one, 0.0)
    world.advance(0.0, ALL)
    lines = world.logs(one.key, 365 * 86400.0, 0, 100_000).text.splitlines()
    assert "still running after 1m" in lines[1]
    assert len(lines) < 30


def test_a_key_that_never_ran_here_has_no_log() -> None:
    world = new_world()
    world.stop("1.0.1", "cancelled", 0.0)
    for key in ("1.0.1", "2.0.1"):
        with pytest.raises(KeyError):
            world.logs(key, 0.0, 0, 10)


def test_an_attempt_that_is_told_to_stop_is_killed_when_its_grace_period_is_over() -> None:
    world, one = new_world(forever=True), attempt(disruption={"grace": 5})
    world.bind(one, 0.0)
    world.advance(1.0, ALL)
    world.stop(one.key, "make room", 10.0)
    world.stop(one.key, "again", 12.0)
    assert world.next_due() == 15.0
    assert world.advance(14.9, ALL) == []
    assert world.advance(15.0, ALL) == [finished(one, None, "make room")]
    assert world.next_due() == math.inf


def test_an_attempt_that_ends_within_its_grace_period_ends_as_it_would_have() -> None:
    world, one = new_world(), attempt(disruption={"grace": 60}, run={"simulate": {"run_time": 10, "exit_code": 3}})
    world.bind(one, 0.0)
    world.advance(1.0, ALL)
    world.stop(one.key, "make room", 2.0)
    assert world.advance(100.0, ALL) == [finished(one, 3, "exit status 3")]


def test_an_attempt_that_has_not_begun_needs_no_grace() -> None:
    world, one = new_world(start_delay=30), attempt(disruption={"grace": 60})
    world.bind(one, 0.0)
    world.stop(one.key, "make room", 2.0)
    assert world.advance(2.0, ALL) == [finished(one, None, "make room")]


def test_a_lost_attempt_gets_no_grace() -> None:
    world, one = new_world(), attempt(disruption={"grace": 60})
    world.bind(one, 0.0)
    world.advance(1.0, ALL)
    world.lose(one.key, "its node failed", 2.0)
    assert world.advance(2.0, ALL) == [finished(one, None, "its node failed")]
