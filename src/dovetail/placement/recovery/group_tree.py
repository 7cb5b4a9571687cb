"""The nested groups of a gang as a tree, and the candidate domains of each group.

Guarantees: a group is placed inside its parent's domain, whatever the levels; domains that hold most of the remaining
tasks come first.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.placement.recovery.problem import LOST, BrokenGang, RecoveryGroup


@dataclass(slots=True)
class Branch:
    """A group and its child groups. `own`: its tasks that are in no child."""

    group: RecoveryGroup
    children: "list[Branch]"
    own: tuple[int, ...]


def tree(gang: BrokenGang) -> Branch:
    """The tree of groups under a root that contains all tasks and nodes."""
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
    """Candidate domains of a group within a region: most of its tasks first, then by row."""
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
    """Of these tasks, those that need a node in the region, and among them those that have one elsewhere."""
    wanting = tuple(m for m in members if gang.rows[m] == LOST or not region[gang.rows[m]])
    return wanting, tuple(m for m in wanting if gang.rows[m] != LOST)
