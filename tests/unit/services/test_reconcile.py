"""The next step of a service: rolling and blue-green updates, scaling, rollback, removal."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.model.services.service import Service
from dovetail.services.reconcile import next_step
from dovetail.services.records import (
    Create,
    Drain,
    NextStep,
    ReplicaSeen,
    Revision,
    RolloutState,
    ServiceRecord,
    StopReplica,
)

DRAIN_S = 2.0


def service(replicas: int = 3, **update: Any) -> Service:
    return Service.model_validate({"name": "web", "replicas": replicas, "update": {"drain": DRAIN_S, **update}})


def record_of(spec: Service, revisions: int = 1, stable: int = 0) -> ServiceRecord:
    made = tuple(Revision(number, spec, 0.0) for number in range(1, revisions + 1))
    return ServiceRecord("default", "web", made, target=revisions, replicas=spec.replicas, stable=stable)


class World:
    """Replicas that do as they are told, each ready `ready_after_s` after its creation unless its revision is bad."""

    def __init__(self, record: ServiceRecord, ready_after_s: float = 1.0, bad: frozenset[int] = frozenset()) -> None:
        self.record: ServiceRecord | None = record
        self.now = 0.0
        self.replicas: dict[int, ReplicaSeen] = {}
        self.created_at: dict[int, float] = {}
        self._ready_after_s, self._bad = ready_after_s, bad
        self.most = self.least_ready = 0

    def settle(self, seconds: float, every_s: float = 0.5) -> None:
        end = self.now + seconds
        self.least_ready = self.ready
        while self.now < end:
            self.step()
            self.now += every_s

    def step(self) -> None:
        assert self.record is not None
        for id_, one in list(self.replicas.items()):
            if one.stopping:
                del self.replicas[id_]
            elif one.revision in self._bad:
                self.replicas[id_] = replace(one, crashes=one.crashes + 1, trouble="exit status 3")
            elif one.unknown:
                self.replicas[id_] = replace(one, ready_since=self.now, unknown=False)
            elif one.ready_since is None and self.now - self.created_at[id_] >= self._ready_after_s:
                self.replicas[id_] = replace(one, ready_since=self.now)
        self._take(next_step(self.record, self.replicas.values(), self.now))

    def forget(self) -> None:
        """The controller starts again: nobody has asked the replicas yet, and who is out of traffic is forgotten."""
        assert self.record is not None
        for id_, one in self.replicas.items():
            unknown = one.ready_since is not None
            self.replicas[id_] = replace(one, ready_since=None, unknown=unknown, draining_since=None)
        self._take(next_step(self.record, self.replicas.values(), self.now))

    def _take(self, taken: NextStep) -> None:
        self.record = taken.record
        for action in taken.actions:
            self._do(action)
        self.most = max(self.most, sum(one.is_live for one in self.replicas.values()))
        self.least_ready = min(self.least_ready, self.ready)

    def _do(self, action: Create | Drain | StopReplica) -> None:
        if isinstance(action, Create):
            names = {(one.revision, one.index) for one in self.replicas.values()}
            assert (action.revision, action.index) not in names, "a name is used twice"
            id_ = len(self.created_at)
            self.created_at[id_] = self.now
            self.replicas[id_] = ReplicaSeen(action.index, action.revision, id_)
        elif isinstance(action, Drain):
            self.replicas[action.workload] = replace(self.replicas[action.workload], draining_since=self.now)
        else:
            since = self.replicas[action.workload].draining_since
            assert since is not None
            assert self.now - since >= DRAIN_S, "stopped before it was out of traffic for long enough"
            self.replicas[action.workload] = replace(self.replicas[action.workload], stopping=True)

    @property
    def ready(self) -> int:
        return sum((one.ready_since is not None or one.unknown) and one.is_live for one in self.replicas.values())

    def revisions(self) -> dict[int, int]:
        """By index: the revision of the live replica."""
        return {one.index: one.revision for one in self.replicas.values() if one.is_live}

    def update(self) -> None:
        assert self.record is not None
        made = Revision(self.record.newest + 1, self.record.spec, self.now)
        grown = replace(self.record, revisions=(*self.record.revisions, made))
        self.record = grown.aiming_at(made.number, self.now, RolloutState.PROGRESSING)

    def rollout(self) -> RolloutState:
        assert self.record is not None
        return self.record.rollout


def running(replicas: int = 3, bad: frozenset[int] = frozenset(), **update: Any) -> World:
    world = World(record_of(service(replicas, **update)), bad=bad)
    world.settle(10)
    assert world.rollout() is RolloutState.COMPLETE
    world.most = 0
    return world


def test_a_new_service_gets_all_its_replicas_at_once() -> None:
    step = next_step(record_of(service(3)), [], 0.0)
    assert step.actions == [Create(1, 0), Create(1, 1), Create(1, 2)]


def test_an_update_surges_by_one_and_never_has_fewer_ready_than_asked_for() -> None:
    world = running(3, max_surge=1, max_unavailable=0)
    world.update()
    world.settle(60)
    assert world.rollout() is RolloutState.COMPLETE
    assert world.revisions() == {0: 2, 1: 2, 2: 2}
    assert world.most == 4
    assert world.least_ready == 3


def test_an_update_without_surge_stops_one_before_it_starts_one() -> None:
    world = running(3, max_surge=0, max_unavailable=1)
    world.update()
    world.settle(60)
    assert world.revisions() == {0: 2, 1: 2, 2: 2}
    assert world.most == 3
    assert world.least_ready == 2


def test_a_version_that_crashes_is_rolled_back_and_the_old_one_never_stops_serving() -> None:
    world = running(3, bad=frozenset({2}))
    world.update()
    world.settle(60)
    assert world.rollout() is RolloutState.ROLLED_BACK
    assert world.record is not None
    assert "back to revision 1: replica 0: exit status 3" in world.record.message
    assert world.revisions() == {0: 1, 1: 1, 2: 1}
    assert world.least_ready == 3


def test_a_version_that_never_becomes_ready_is_rolled_back_after_its_time() -> None:
    world = running(2, healthy_within=30)
    world._ready_after_s = 1e9
    world.update()
    world.settle(29)
    assert world.rollout() is RolloutState.PROGRESSING
    world.settle(20)
    assert world.rollout() is RolloutState.ROLLED_BACK
    assert world.revisions() == {0: 1, 1: 1}


def test_without_rollback_a_failed_update_stays_where_it_is() -> None:
    world = running(2, bad=frozenset({2}), rollback=False)
    world.update()
    world.settle(30)
    assert world.rollout() is RolloutState.FAILED
    assert world.least_ready == 2


def test_a_first_version_that_fails_has_nothing_to_go_back_to() -> None:
    world = World(record_of(service(2)), bad=frozenset({1}))
    world.settle(10)
    assert world.rollout() is RolloutState.FAILED
    assert len(world.revisions()) == 2


def test_blue_green_moves_traffic_when_all_are_ready_and_then_stops_the_old_ones() -> None:
    world = running(3, strategy="blue_green")
    assert world.record is not None
    assert world.record.active == 1
    world.update()
    world.step()
    world.step()
    assert sum(one.is_live for one in world.replicas.values()) == 6
    assert world.record.active == 1
    world.settle(10)
    assert world.record.active == 2
    assert world.revisions() == {0: 2, 1: 2, 2: 2}


def test_a_failed_blue_green_update_leaves_traffic_where_it_was() -> None:
    world = running(2, bad=frozenset({2}), strategy="blue_green")
    world.update()
    world.settle(20)
    assert world.record is not None
    assert world.rollout() is RolloutState.ROLLED_BACK
    assert world.record.active == 1
    assert world.revisions() == {0: 1, 1: 1}
    assert world.least_ready == 2


def test_scaling_down_takes_the_highest_first_and_scaling_up_waits_for_names_to_be_free() -> None:
    world = running(4)
    assert world.record is not None
    world.record = replace(world.record, replicas=2)
    world.step()
    assert sorted(world.revisions()) == [0, 1]
    world.record = replace(world.record, replicas=4)
    world.settle(10)
    assert sorted(world.revisions()) == [0, 1, 2, 3]


def test_a_replica_that_ended_by_itself_is_made_again_after_its_pause() -> None:
    record = record_of(service(1))
    early = next_step(record, [], 5.0, {0: 9.0})
    assert early.actions == []
    assert early.look_again_at == 9.0
    assert next_step(record, [], 9.0, {0: 9.0}).actions == [Create(1, 0)]


def test_a_replica_counts_only_after_it_was_ready_for_long_enough() -> None:
    world = running(2, min_ready=5)
    world.update()
    began = world.now
    world.settle(60)
    assert world.revisions() == {0: 2, 1: 2}
    newest = max(at for at in world.created_at.values())
    assert newest - began >= 5  # the second replica was replaced only then


def test_a_restart_in_the_middle_of_an_update_stops_no_replica_that_may_be_serving() -> None:
    world = running(3, max_surge=1, max_unavailable=0)
    world.update()
    world.settle(1)
    for _ in range(20):
        world.forget()
        world.settle(3)
        assert world.least_ready >= 3
    assert world.revisions() == {0: 2, 1: 2, 2: 2}


def test_an_old_replica_that_is_known_to_serve_nobody_is_stopped_at_once() -> None:
    record = replace(record_of(service(1), revisions=2, stable=1), replicas=1)
    new = ReplicaSeen(0, 2, 2)
    assert Drain(1) in next_step(record, [ReplicaSeen(0, 1, 1), new], 1.0).actions
    assert Drain(1) not in next_step(record, [ReplicaSeen(0, 1, 1, unknown=True), new], 1.0).actions


def test_a_removed_service_stops_all_its_replicas() -> None:
    world = running(3)
    assert world.record is not None
    world.record = replace(world.record, removed=True)
    world.settle(10)
    assert world.replicas == {}


@examples(60)
@given(
    replicas=st.integers(0, 6),
    surge=st.integers(0, 3),
    unavailable=st.integers(0, 3),
    strategy=st.sampled_from(["rolling", "blue_green"]),
    happenings=st.lists(st.tuples(st.floats(0, 15), st.sampled_from(["update", "scale", "die", "forget"])), max_size=6),
    sizes=st.lists(st.integers(0, 6), min_size=6, max_size=6),
)
def test_whatever_happens_the_service_arrives_at_its_definition(
    replicas: int,
    surge: int,
    unavailable: int,
    strategy: str,
    happenings: list[tuple[float, str]],
    sizes: list[int],
) -> None:
    if not surge and not unavailable:
        surge = 1
    world = World(record_of(service(replicas, max_surge=surge, max_unavailable=unavailable, strategy=strategy)))
    for (pause, what), size in zip(happenings, sizes, strict=False):
        world.settle(pause)
        assert world.record is not None
        if what == "update":
            world.update()
        elif what == "scale":
            world.record = replace(world.record, replicas=size)
        elif what == "forget":
            world.forget()
        elif world.replicas:
            del world.replicas[min(world.replicas)]
    world.settle(120)
    assert world.record is not None
    assert world.revisions() == dict.fromkeys(range(world.record.replicas), world.record.target)
    assert world.rollout() is RolloutState.COMPLETE
    assert len(world.replicas) == world.record.replicas
