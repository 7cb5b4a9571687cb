"""The parts of an application: waiting workloads that exchange traffic with each other, directly or through others."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from dovetail.engine.gangs.group_trial import GroupTrial, attempts
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import GroupPart, QueuePlace, Work

#: With more tasks, or more declared traffic, than this the tasks are placed one by one: the search must not keep others
#: waiting.
MOST_TASKS, MOST_PAIRS = 500, 5000


class ApplicationPart(NamedTuple):
    """`replicas`: of the whole workload or service, wherever they are; its traffic is shared evenly among them."""

    trial: GroupTrial
    replicas: int

    @property
    def key(self) -> tuple[str, str]:
        identity = self.trial.subject.identity
        return identity.namespace, identity.workload

    @property
    def tasks(self) -> int:
        return len(self.trial.replicas)


def waiting_members(state: EngineState, work: Work) -> list[Work]:
    """The workload and all queued ones that it is connected with by traffic, in the order in which they are decided.
    Only itself where there are no others, or too many."""
    found = {work.id: work}
    ripe = deque([work])
    tasks, pairs = work.at_once, len(work.shape.traffic)
    while ripe:
        for other in peers_of(state, ripe.popleft()):
            if other.id not in found and _may_join(state, other):
                found[other.id] = other
                ripe.append(other)
                tasks, pairs = tasks + other.at_once, pairs + len(other.shape.traffic)
                if tasks > MOST_TASKS or pairs > MOST_PAIRS:
                    return [work]
    return sorted(found.values(), key=lambda member: (member.id != work.id, state.pending.key(member), member.id))


def has_peers(state: EngineState, work: Work) -> bool:
    """A quick answer: could any other live workload exchange traffic with it?"""
    return bool(work.shape.traffic) or bool(state.talkers.to((work.namespace, work.known_as)))


def peers_of(state: EngineState, work: Work) -> list[Work]:
    """Live workloads that it exchanges traffic with."""
    named = [id_ for name, _ in work.shape.traffic for id_ in _named(state, (work.namespace, name))]
    talkers = state.talkers.to((work.namespace, work.known_as))
    siblings = state.talkers.replicas((work.namespace, work.known_as))
    return [state.work[id_] for id_ in (*named, *talkers, *siblings) if id_ in state.work and id_ != work.id]


def _named(state: EngineState, key: tuple[str, str]) -> Iterable[int]:
    """The live workloads that are known by this name: one, or the replicas of a service."""
    found = state.cluster.placements.directory.get(key)
    return state.talkers.replicas(key) if found is None else (found[0],)


def size_of(state: EngineState, key: tuple[str, str]) -> int:
    """How many tasks a workload has, or a service, wherever they are."""
    found = state.cluster.placements.directory.get(key)
    return len(state.talkers.replicas(key)) if found is None else found[1]


def _may_join(state: EngineState, work: Work) -> bool:
    return work.queue_place is QueuePlace.QUEUED and may_be_nominated(state, work)


def may_be_nominated(state: EngineState, work: Work) -> bool:
    """May a search for its whole application nominate its nodes? Not those of gangs, of pods, of work that has
    nominated nodes or waits for victims, or under profiles that take nodes in turn or at random."""
    return (
        work.nominations is None
        and not work.is_pod
        and not work.nominated
        and work.can_start
        and (work.group is None or not work.group.places_together)
        and work.id not in state.promises.of_work
        and state.pipelines[work.shape.profile].settings.select == "best"
    )


def parts_of(state: EngineState, members: list[Work], now: float) -> list[ApplicationPart]:
    asked = [GroupPart(work, sorted(work.waiting)[: work.at_once]) for work in members]
    trials = attempts(state, asked, now)
    sizes = [size_of(state, (work.namespace, work.known_as)) for work in members]
    return [ApplicationPart(trial, size) for trial, size in zip(trials, sizes, strict=True)]
