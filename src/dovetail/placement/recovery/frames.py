"""Frames: in which domains the groups of a gang may lie, and what each choice asks for.

A frame gives every group a domain inside that of the group around it. What follows from it are *cells*: so many tasks
for some rows. Guarantees: every choice of domains in which all tasks have an allowed row is among the frames, once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.placement.recovery.problem import LOST, Broken, Group


@dataclass(frozen=True, slots=True)
class Cell:
    """These tasks, by their place in the gang, need nodes among these rows."""

    tasks: tuple[int, ...]
    among: B1


@dataclass(frozen=True, slots=True)
class Frame:
    """`moved`: tasks that have a node and do not lie where their group will."""

    cells: tuple[Cell, ...]
    moved: tuple[int, ...]


@dataclass(slots=True)
class Branch:
    """A group with the groups directly inside it; `own`: its tasks that are in none of those."""

    group: Group
    children: "list[Branch]"
    own: tuple[int, ...]


def tree(gang: Broken) -> Branch:
    """The groups inside one another, around them one that is everything."""
    everything = Group(np.zeros(len(gang.allowed), dtype=np.intp), tuple(range(len(gang.rows))))
    root = Branch(everything, [], ())
    for group in gang.groups:
        _hang(root, group)
    _settle(root)
    return root


def _hang(branch: Branch, group: Group) -> None:
    members = set(group.members)
    for child in branch.children:
        if members <= set(child.group.members):
            _hang(child, group)
            return
    branch.children.append(Branch(group, [], ()))


def _settle(branch: Branch) -> None:
    inside = {member for child in branch.children for member in child.group.members}
    branch.own = tuple(member for member in branch.group.members if member not in inside)
    for child in branch.children:
        _settle(child)


def domains(gang: Broken, branch: Branch, region: B1) -> list[B1]:
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


def _held(gang: Broken, branch: Branch) -> B1:
    held = np.zeros(len(gang.allowed), dtype=np.bool_)
    held[[gang.rows[member] for member in branch.group.members if gang.rows[member] != LOST]] = True
    return held


def seek(gang: Broken, members: tuple[int, ...], region: B1) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of these tasks, those that need a node in the region, and of those the ones that have one elsewhere."""
    wanting = tuple(m for m in members if gang.rows[m] == LOST or not region[gang.rows[m]])
    return wanting, tuple(m for m in wanting if gang.rows[m] != LOST)


def frames(gang: Broken) -> Iterator[Frame]:
    """Every frame, in no particular order of cost."""
    root = tree(gang)
    region = np.ones(len(gang.allowed), dtype=np.bool_)
    for cells, moved in _frames(gang, root, region):
        yield Frame(tuple(cells), tuple(moved))


def _frames(gang: Broken, branch: Branch, region: B1) -> Iterator[tuple[list[Cell], list[int]]]:
    for domain in domains(gang, branch, region):
        wanting, moved = seek(gang, branch.own, domain)
        allowed = domain & gang.allowed
        if wanting and not allowed.any():
            continue
        cells = [Cell(wanting, allowed)] if wanting else []
        for more, others in _all(gang, branch.children, domain):
            yield cells + more, [*moved, *others]


def _all(gang: Broken, branches: list[Branch], region: B1) -> Iterator[tuple[list[Cell], list[int]]]:
    if not branches:
        yield [], []
        return
    for cells, moved in _frames(gang, branches[0], region):
        for more, others in _all(gang, branches[1:], region):
            yield cells + more, moved + others
