"""Expands a workload with roles into a group of workloads, and labels the members."""

from dovetail.model.workloads.roles import GROUP_LABEL, ROLE_LABEL
from dovetail.model.workloads.workload import Gang, Workload


def by_role(spec: Workload) -> list[Workload]:
    """One workload for each role, in order of rank; without roles, the workload itself."""
    if not spec.roles:
        return [spec]
    least = sum(role.replicas for role in spec.roles) if spec.gang is None else spec.gang.min
    found = []
    for role in spec.roles:
        given = {name: getattr(role, name) for name in role.model_fields_set - {"name", "labels"}}
        changed = {name: value for name, value in given.items() if value is not None}
        gang = Gang(min=least, group=spec.name, hold=spec.gang is None or spec.gang.hold)
        labels = {**spec.labels, **(role.labels or {}), ROLE_LABEL: role.name}
        own = {
            "name": f"{spec.name}-{role.name}",
            "roles": [],
            "labels": labels,
            "gang": gang,
        }
        found.append(spec.model_copy(update=changed | own))
    return found


def labels_of(spec: Workload) -> tuple[tuple[str, str], ...]:
    """Its labels, and a label for its group."""
    if spec.gang is not None and spec.gang.group is not None:
        return tuple(sorted((*spec.labels.items(), (GROUP_LABEL, spec.gang.group))))
    return tuple(sorted(spec.labels.items())) if spec.labels else ()
