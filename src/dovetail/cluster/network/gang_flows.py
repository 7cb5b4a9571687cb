"""The uplink bandwidth that gangs hold: what their tasks can send out of each domain, as they are placed now.

A gang that declares what each task must be able to send to the others (`topology.bandwidth`) holds that much of a
domain's uplinks for every task inside, as long as other tasks of the gang are outside. Where all are inside it holds
nothing. What is held follows from the placements and the labels of nodes. It is worked out on demand: for gangs that
gained or lost a task, and for all gangs when nodes or the topology changed. So trials, restarts, moves and new labels
need no code of their own.
Guarantees: what is held is the exact sum over gangs, since amounts are whole numbers. `PlacementTable` writes here as
tasks come and go; work that declares no bandwidth costs nothing.
"""

from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8, I4, Rows
from dovetail.cluster.network.topology import ReservedBandwidth
from dovetail.model.requests.task_identity import TaskIdentity

Gang = tuple[str, str]  # namespace, and the name of the group or the workload
Column = tuple[str, I4 | None]  # the label of a level and int[node], the code of each node's domain; None: the node
Senders = tuple[tuple[str, int], ...]


class Members(NamedTuple):
    """Where the tasks of a gang are: rows, each once; how many there, and what those send together in Mbps."""

    rows: Rows
    tasks: F8
    mbps: F8


NO_MEMBERS = Members(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))


class _Hold(NamedTuple):
    key: str
    codes: Rows
    mbps: F8


class GangFlows:
    def __init__(self) -> None:
        self.rows: dict[Gang, dict[int, tuple[int, int]]] = {}  # by row: tasks, and their Mbps
        self.held: dict[Gang, list[_Hold]] = {}  # as it was settled
        self._stale: dict[Gang, None] = {}
        self._as_of: object = None

    def count(self, identity: TaskIdentity, row: int, change: int) -> None:
        gang = identity.gang
        rows = self.rows.setdefault(gang, {})
        tasks, mbps = rows.get(row, (0, 0))
        if tasks + change:
            rows[row] = (tasks + change, mbps + change * identity.bandwidth_mbps)
        else:
            del rows[row]
            if not rows:
                del self.rows[gang]
        self._stale[gang] = None

    def members(self, gang: Gang) -> Members:
        found = self.rows.get(gang)
        if not found:
            return NO_MEMBERS
        both = np.array(list(found.values()), dtype=np.float64)
        return Members(np.fromiter(found, dtype=np.intp, count=len(found)), both[:, 0], both[:, 1])

    def is_settled(self, as_of: object) -> bool:
        return not self._stale and (self._as_of == as_of or not self.held)

    def settle(self, reserved: ReservedBandwidth, columns: list[Column], as_of: object) -> None:
        """Bring what is reserved up to date; `as_of` changes when a node may be in another domain."""
        stale = list(self._stale if self._as_of == as_of else {**self.held, **self._stale})
        for gang in stale:
            for hold in self.held.pop(gang, ()):
                reserved.add(hold.key, hold.codes, -hold.mbps)
            members = self.members(gang)
            if not len(members.rows):
                continue
            self.held[gang] = holds = [_hold(members, column) for column in columns]
            for hold in holds:
                reserved.add(hold.key, hold.codes, hold.mbps)
        self._stale.clear()
        self._as_of = as_of


def _hold(members: Members, column: Column) -> _Hold:
    key, codes = column
    domains, mbps = crossing(members, None if codes is None else codes[members.rows])
    return _Hold(key, domains, mbps)


def crossing(members: Members, codes: I4 | None) -> tuple[Rows, F8]:
    """The domains that a gang sends out of, each once, and how much. `codes`: the domain of each of its rows, 0 for one
    that is in none and has no such link; None: the rows themselves."""
    if codes is None:
        return (members.rows, members.mbps) if len(members.rows) > 1 else (NO_MEMBERS.rows, NO_MEMBERS.mbps)
    domains, place = np.unique(codes.astype(np.intp), return_inverse=True)
    if len(domains) == 1 and domains[0] != 0:
        return NO_MEMBERS.rows, NO_MEMBERS.mbps
    mbps = np.bincount(place, members.mbps).astype(np.float64)
    linked = domains != 0
    return domains[linked], mbps[linked]


class DeclaredTraffic:
    """Declared traffic between workloads that hold nodes, by receiver: which workloads send to it, and how much. (A
    shape holds what its workload declares itself.) Follows from the placed tasks alone, not from the order in which
    they came."""

    def __init__(self) -> None:
        # By namespace and name of the receiver: Mbps by sender.
        self.senders: dict[tuple[str, str], dict[TaskIdentity, int]] = {}
        self._tasks: dict[TaskIdentity, int] = {}  # of senders: how many tasks hold a node

    def count(self, identity: TaskIdentity, change: int) -> None:
        before = self._tasks.get(identity, 0)
        after = before + change
        if after:
            self._tasks[identity] = after
        else:
            self._tasks.pop(identity, None)
        if bool(before) == bool(after):
            return
        for to, mbps in identity.talks:
            senders = self.senders.setdefault((identity.namespace, to), {})
            if after:
                senders[identity] = mbps
            else:
                senders.pop(identity, None)
                if not senders:
                    del self.senders[identity.namespace, to]

    def senders_to(self, identity: TaskIdentity) -> Senders:
        """Workloads that hold nodes and send to the one with this identity, and at how many Mbps; by name. Itself is
        left out. Of two definitions of one workload (the old one is being stopped) the one with more traffic counts."""
        senders = self.senders.get((identity.namespace, identity.workload)) if self.senders else None
        if not senders:
            return ()
        by_name: dict[str, int] = {}
        for sender, mbps in senders.items():
            if sender.workload != identity.workload:
                by_name[sender.workload] = max(mbps, by_name.get(sender.workload, 0))
        return tuple(sorted(by_name.items()))
