"""Groups: workloads of one namespace that start together, whatever each of them asks for.

While too few of its tasks have a node, a group stands in line with one of its members, the first that has something to
start; the others are tried along with it. Once enough run, each member goes on by itself. What members that ended have
achieved still counts. Guarantees: pure bookkeeping over `Work`; deciding is left to `group_placing`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.engine.state.work import Work


class GroupPart(NamedTuple):
    """The tasks of one member that are to start with the others."""

    work: Work
    replicas: list[int]


@dataclass(slots=True)
class Group:
    """`id` is that of its first member. `gone` counts for members that are finished and forgotten."""

    id: int
    namespace: str
    name: str
    members: dict[int, Work] = field(default_factory=dict)
    tasks: int = 0  # of all members there ever were
    gone_succeeded: int = 0
    gone_lost: int = 0
    gone_failed: int = 0
    gone_tasks: int = 0
    mending: bool = False  # it lost tasks with their nodes; the others stay while it may be made whole

    def join(self, work: Work) -> None:
        self.members[work.id] = work
        self.tasks += work.replicas
        work.group = self

    def leave(self, work: Work) -> None:
        """It is finished."""
        del self.members[work.id]
        self.gone_succeeded += work.succeeded
        self.gone_tasks += work.replicas
        lost = work.done - work.succeeded
        self.gone_lost += lost
        self.gone_failed += 0 if work.cancelled else lost

    @property
    def least(self) -> int:
        return max([work.terms.group_min for work in self._uncancelled()], default=0)

    @property
    def firm(self) -> int:
        """Tasks that hold a node and stay."""
        return sum([work.holding - work.stopping for work in self.members.values()])

    @property
    def lost(self) -> int:
        """Tasks that ended, but not well."""
        return self.gone_lost + sum([work.done - work.succeeded for work in self.members.values()])

    @property
    def failed(self) -> int:
        """Of those, the ones that nobody cancelled."""
        return self.gone_failed + sum([work.done - work.succeeded for work in self._uncancelled()])

    def _uncancelled(self) -> list[Work]:
        return [work for work in self.members.values() if not work.cancelled]

    @property
    def short(self) -> int:
        """How many must find a node together; 0 where each may come by itself."""
        standing = self._standing
        return 0 if standing and self.is_loose else max(0, self.least - standing)

    @property
    def slack(self) -> int:
        """How many may go before it falls."""
        return max(0, self._standing - self.least)

    @property
    def _standing(self) -> int:
        return self.firm + self.gone_succeeded + sum([work.succeeded for work in self.members.values()])

    @property
    def is_loose(self) -> bool:
        """Is it a group only until it has started?"""
        return all(work.terms.loose for work in self.members.values())

    @property
    def leader(self) -> Work | None:
        """Who stands in line for all of them, if enough of them could start."""
        if self.tasks < self.least:
            return None
        ready = [work for work in self.members.values() if work.is_ready]
        enough = sum([work.at_once for work in ready]) >= self.short
        return ready[0] if ready and enough else None

    def lets(self, work: Work) -> bool:
        """May this member stand in line?"""
        if self.tasks < self.members[work.id].terms.group_min:  # by far the quickest answer while they come in
            return False
        return not self.short or self.leader is work

    def parts(self) -> list[GroupPart]:
        """The tasks that are to start together now, in order of rank."""
        left = self.short
        found = []
        for work in self.members.values():
            if left and work.is_ready:
                replicas = sorted(work.waiting)[: min(left, work.at_once)]
                left -= len(replicas)
                found.append(GroupPart(work, replicas))
        return found

    def alike(self, work: Work) -> int:
        """How many of those that start together are like this member's tasks."""
        if not self.short:
            return 0
        return sum([len(part.replicas) for part in self.parts() if part.work.shape == work.shape])

    def notes(self) -> list[int]:
        """What a restart has to know."""
        return [self.gone_tasks, self.gone_succeeded, self.gone_lost, self.gone_failed]

    def recall(self, notes: list[int]) -> None:
        """The inverse; any member knows."""
        self.tasks += notes[0] - self.gone_tasks
        self.gone_tasks, self.gone_succeeded, self.gone_lost, self.gone_failed = notes


class Groups:
    """All that live, by namespace and name."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], Group] = {}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def admit(self, work: Work, notes: list[int] | None = None) -> None:
        """A member is live from now on."""
        key = (work.namespace, work.terms.group)
        group = self._by_name.get(key)
        if group is None:
            group = self._by_name[key] = Group(work.id, *key)
        group.join(work)
        if notes is not None:
            group.recall(notes)

    def forget(self, work: Work) -> Group | None:
        """It is finished; its group, if others of that are live."""
        group = work.group
        if group is None:
            return None
        group.leave(work)
        if group.members:
            return group
        del self._by_name[group.namespace, group.name]
        return None

    def named(self, namespace: str, name: str) -> Group | None:
        return self._by_name.get((namespace, name))

    def all(self) -> list[Group]:
        return list(self._by_name.values())
