"""Declared traffic between workloads that hold nodes, by receiver: which workloads send to it, and how much.

A shape holds what its workload declares itself. This table holds the other direction, for workloads that others name.
`PlacementTable` writes it as tasks come and go. Work that declares no traffic costs nothing here.
Guarantees: the answers follow from the placed tasks alone, not from the order in which they came.
"""

from dovetail.model.requests.task_identity import TaskIdentity

Said = tuple[tuple[str, int], ...]


class Conversations:
    def __init__(self) -> None:
        self.said: dict[
            tuple[str, str], dict[TaskIdentity, int]
        ] = {}  # by namespace and name of the receiver: Mbps by sender
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
            senders = self.said.setdefault((identity.namespace, to), {})
            if after:
                senders[identity] = mbps
            else:
                senders.pop(identity, None)
                if not senders:
                    del self.said[identity.namespace, to]

    def with_whom(self, identity: TaskIdentity) -> Said:
        """Workloads that hold nodes and send to the one with this identity, and at how many Mbps; by name. Itself is
        left out. Of two definitions of one workload (the old one is being stopped) the one with more traffic counts."""
        senders = self.said.get((identity.namespace, identity.workload)) if self.said else None
        if not senders:
            return ()
        by_name: dict[str, int] = {}
        for sender, mbps in senders.items():
            if sender.workload != identity.workload:
                by_name[sender.workload] = max(mbps, by_name.get(sender.workload, 0))
        return tuple(sorted(by_name.items()))
