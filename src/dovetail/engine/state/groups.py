"""The table of groups that have a live member."""

from dovetail.engine.state.work import Group, Work


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
