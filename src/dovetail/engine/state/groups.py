"""The table of groups that have a live member."""

from dovetail.engine.state.work import Group, Work


class Groups:
    """Groups of one workload by its id, the others by namespace and name."""

    def __init__(self) -> None:
        self._by_key: dict[int | tuple[str, str], Group] = {}

    def admit(self, work: Work, notes: list[int] | None = None) -> None:
        """The workload is live from now on; nothing happens if its tasks may start one by one."""
        name = work.terms.group
        if not name and not work.terms.gang_min:
            return
        group = Group(work.id, work.namespace, name)
        group = self._by_key.setdefault(group.key, group)
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
        del self._by_key[group.key]
        return None

    def named(self, namespace: str, name: str) -> Group | None:
        return self._by_key.get((namespace, name))

    def all(self) -> list[Group]:
        return list(self._by_key.values())
