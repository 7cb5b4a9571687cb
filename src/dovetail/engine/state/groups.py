"""Groups: tasks that start together or not at all.

A workload with `gang.min` is a group of its own, with one member (`is_solo`). Workloads of one namespace that name the
same `gang.group` are one group, whatever each of them asks for. While too few of its tasks have a node, one member
stands in the queue for the whole group, and the others are tried along with it. Once enough run, each member continues
by itself. Tasks that succeeded still count after their workload has finished.

Guarantees: bookkeeping over `Work` only. Leaves to others: placing (`group_placing`) and what follows when a group
loses tasks (`life`).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.engine.state.work import Work


class GroupPart(NamedTuple):
    """The tasks of one member that have to start with the others."""

    work: Work
    replicas: list[int]


@dataclass(slots=True)
class Group:
    """`id` is that of its first member; `name` is empty for a group of one workload. `gone_*`: tasks of members that
    are finished and forgotten."""

    id: int
    namespace: str
    name: str
    members: dict[int, Work] = field(default_factory=dict)
    tasks: int = 0  # of all members, finished ones included
    gone_succeeded: int = 0
    gone_lost: int = 0
    gone_failed: int = 0
    gone_tasks: int = 0
    mending: bool = False  # it lost tasks with their nodes; the other tasks stay while replacements are sought

    def join(self, work: Work) -> None:
        self.members[work.id] = work
        self.tasks += work.replicas
        work.group = self

    def leave(self, work: Work) -> None:
        """The member is finished."""
        del self.members[work.id]
        self.gone_succeeded += work.succeeded
        self.gone_tasks += work.replicas
        lost = work.done - work.succeeded
        self.gone_lost += lost
        self.gone_failed += 0 if work.cancelled else lost

    @property
    def is_solo(self) -> bool:
        """Is it the gang of one workload, which no other can join?"""
        return not self.name

    def _counts(self) -> tuple[int, int, bool]:
        """How many tasks it needs, how many of them run or succeeded, and whether it is loose: in one pass, since these
        are asked for again and again."""
        least, fulfilled, loose = 0, self.gone_succeeded, True
        for work in self.members.values():
            terms = work.terms
            fulfilled += work.holding - work.stopping + work.succeeded
            loose = loose and terms.loose
            if not work.cancelled:
                least = max(least, terms.gang_min or terms.group_min)
        return least, fulfilled, loose

    @property
    def least(self) -> int:
        """How many tasks it needs."""
        return self._counts()[0]

    @property
    def firm(self) -> int:
        """Tasks that hold a node and stay there."""
        return sum([work.holding - work.stopping for work in self.members.values()])

    @property
    def lost(self) -> int:
        """Tasks that ended without success."""
        return self.gone_lost + sum([work.done - work.succeeded for work in self.members.values()])

    @property
    def failed(self) -> int:
        """Lost tasks of members that nobody cancelled."""
        return self.gone_failed + sum([work.done - work.succeeded for work in self._uncancelled()])

    def _uncancelled(self) -> list[Work]:
        return [work for work in self.members.values() if not work.cancelled]

    @property
    def short(self) -> int:
        """How many tasks must find a node together; 0 where each may start by itself."""
        least, fulfilled, loose = self._counts()
        return 0 if fulfilled and loose else max(0, least - fulfilled)

    @property
    def slack(self) -> int:
        """How many tasks it can lose without falling below its least."""
        least, fulfilled, _ = self._counts()
        return max(0, fulfilled - least)

    @property
    def is_loose(self) -> bool:
        """Does it hold together only until it has started?"""
        return self._counts()[2]

    @property
    def places_together(self) -> bool:
        """Are its next tasks placed all at once? The only task of one workload is placed like any other task."""
        return self.short > (1 if self.is_solo else 0)

    @property
    def leader(self) -> Work | None:
        """The member that stands in the queue for all, if enough tasks could start."""
        if self.tasks < self.least:
            return None
        ready = [work for work in self.members.values() if work.is_ready]
        enough = sum([work.at_once for work in ready]) >= self.short
        return ready[0] if ready and enough else None

    def lets(self, work: Work) -> bool:
        """May this member stand in the queue?"""
        if self.tasks < self.members[work.id].terms.group_min:  # by far the quickest answer while members arrive
            return False
        return not self.short or self.leader is work

    def parts(self) -> list[GroupPart]:
        """The tasks that have to start together now, in order of rank."""
        left = self.short
        found = []
        for work in self.members.values():
            if left and work.is_ready:
                replicas = sorted(work.waiting)[: min(left, work.at_once)]
                left -= len(replicas)
                found.append(GroupPart(work, replicas))
        return found

    def short_of(self, work: Work) -> int:
        """How many tasks with the shape of this member must find a node together."""
        short = self.short
        if not short or self.is_solo:
            return short
        return sum([len(part.replicas) for part in self.parts() if part.work.shape == work.shape])

    def notes(self) -> list[int]:
        """What a restart has to know."""
        return [self.gone_tasks, self.gone_succeeded, self.gone_lost, self.gone_failed]

    def recall(self, notes: list[int]) -> None:
        """The inverse of `notes`; every member carries them."""
        self.tasks += notes[0] - self.gone_tasks
        self.gone_tasks, self.gone_succeeded, self.gone_lost, self.gone_failed = notes


class Groups:
    """All groups with a live member: those of one workload, and the others by namespace and name."""

    def __init__(self) -> None:
        self._solo: dict[int, Group] = {}
        self._by_name: dict[tuple[str, str], Group] = {}

    def __bool__(self) -> bool:
        return bool(self._solo or self._by_name)

    def admit(self, work: Work, notes: list[int] | None = None) -> None:
        """The workload is live from now on; nothing happens if its tasks may start one by one."""
        if work.terms.group:
            key = (work.namespace, work.terms.group)
            group = self._by_name.get(key)
            if group is None:
                group = self._by_name[key] = Group(work.id, *key)
        elif work.terms.gang_min:
            group = self._solo[work.id] = Group(work.id, work.namespace, "")
        else:
            return
        group.join(work)
        if notes is not None:
            group.recall(notes)

    def forget(self, work: Work) -> Group | None:
        """The workload is finished. Returns its group if other members are live."""
        group = work.group
        if group is None:
            return None
        group.leave(work)
        if group.members:
            return group
        if group.is_solo:
            del self._solo[group.id]
        else:
            del self._by_name[group.namespace, group.name]
        return None

    def named(self, namespace: str, name: str) -> Group | None:
        return self._by_name.get((namespace, name))

    def all(self) -> list[Group]:
        return [*self._solo.values(), *self._by_name.values()]
