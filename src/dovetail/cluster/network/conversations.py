"""Who talks to whom, of the work that holds nodes: by workload that is talked to, those that say so and how much.

What a workload says of itself is in its shape; this is the other direction, for whoever is named by others.
Written by `PlacementTable` as tasks come and go; most work names nobody, and costs nothing here.
"""

from dovetail.model.requests.task_identity import TaskIdentity

Said = tuple[tuple[str, int], ...]


class Conversations:
    def __init__(self) -> None:
        self.said: dict[tuple[str, str], dict[str, int]] = {}  # by namespace and name: Mbps by who says so
        self._tasks: dict[TaskIdentity, int] = {}  # with something to say: how many tasks hold a node

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
            about = self.said.setdefault((identity.namespace, to), {})
            if after:
                about[identity.workload] = mbps
            else:
                about.pop(identity.workload, None)  # two badges of one name, for as long as the old one is stopped
                if not about:
                    del self.said[identity.namespace, to]

    def with_whom(self, identity: TaskIdentity) -> Said:
        """Who of the work that holds nodes talks to the one with this badge, and at how many Mbps; by name. What it
        says of itself it knows."""
        about = self.said.get((identity.namespace, identity.workload)) if self.said else None
        if not about:
            return ()
        return tuple(sorted((name, mbps) for name, mbps in about.items() if name != identity.workload))
