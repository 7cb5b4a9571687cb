"""The groups of a gang inside one another, and the domains in which each could lie.

Guarantees: a group lies inside the domain of the group around it, whatever their levels are; domains that hold most of
the tasks that are left come first.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.placement.recovery.problem import LOST, BrokenGang, RecoveryGroup


@dataclass(slots=True)
class Branch:
    """A group with the groups directly inside it; `own`: its tasks that are in none of those."""

    group: RecoveryGroup
    children: "list[Branch]"
    own: tuple[int, ...]


def tree(gang: BrokenGang) -> Branch:
    """The groups inside one another, around them one that is everything."""
    everything = RecoveryGroup(np.zeros(len(gang.allowed), dtype=np.intp), tuple(range(len(gang.rows))))
    root = Branch(everything, [], ())
    for group in gang.groups:
        _insert(root, group)
    _set_own(root)
    return root


def _insert(branch: Branch, group: RecoveryGroup) -> None:
    members = set(group.members)
    for child in branch.children:
        if members <= set(child.group.members):
            _insert(child, group)
            return
    branch.children.append(Branch(group, [], ()))


def _set_own(branch: Branch) -> None:
    inside = {member for child in branch.children for member in child.group.members}
    branch.own = tuple(member for member in branch.group.members if member not in inside)
    for child in branch.children:
        _set_own(child)


def domains(gang: BrokenGang, branch: Branch, region: B1) -> list[B1]:
    """The parts of a region in which a group could lie, those with most of its tasks first, then by row."""
    codes = branch.group.codes
    rows = np.flatnonzero(region & (gang.allowed | _held(gang, branch)))
    if not len(rows):
        return []
    found, first = np.unique(codes[rows], return_index=True)
    kept = [gang.rows[member] for member in branch.group.members if gang.rows[member] != LOST]
    inside = np.bincount(np.searchsorted(found, codes[kept])[np.isin(codes[kept], found)], minlength=len(found))
    order = np.lexsort((first, -inside))
    return [region & (codes == found[at]) for at in order.tolist()]


def _held(gang: BrokenGang, branch: Branch) -> B1:
    held = np.zeros(len(gang.allowed), dtype=np.bool_)
    held[[gang.rows[member] for member in branch.group.members if gang.rows[member] != LOST]] = True
    return held


def needing_nodes(gang: BrokenGang, members: tuple[int, ...], region: B1) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of these tasks, those that need a node in the region, and of those the ones that have one elsewhere."""
    wanting = tuple(m for m in members if gang.rows[m] == LOST or not region[gang.rows[m]])
    return wanting, tuple(m for m in wanting if gang.rows[m] != LOST)
