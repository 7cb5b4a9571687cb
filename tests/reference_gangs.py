"""The oracle for gangs with a layout: exhaustive search for a node for every rank, in order.

Written from the documented rules: all ranks in one domain of the level required; each slice, in order of rank, in one
domain of its level; no node over what it holds; and where links set a limit, no more ranks in a domain than its links
up allow, unless all are inside. It knows nothing of sums over domains, and is for small clusters only.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

ALONE = frozenset({"host", "node"})
Domain = Hashable
Uplinks = Mapping[tuple[str, Domain], float]  # by level and domain: ranks that may send out of it


@dataclass(frozen=True)
class Place:
    """A node as a gang sees it: its labels, widest level first, and how many of the tasks it could take."""

    name: str
    labels: Mapping[str, str]
    copies: int


def domain_of(place: Place, level: str | None, levels: Sequence[str]) -> Domain:
    """Which domain of a level a node is in, inside those of the wider levels; its own where it has no label."""
    if level is None:
        return ()
    if level in ALONE or level not in levels:
        return place.name
    wider = levels[: levels.index(level) + 1]
    return tuple([place.labels.get(one, (place.name,)) for one in wider])


def overloaded(places: Sequence[Place], levels: Sequence[str], ranks: Sequence[int], uplinks: Uplinks) -> list[str]:
    """Domains with more ranks than their links up allow, while others are outside. `ranks`: how many each place has."""
    found = []
    for level in (*levels, "host"):
        inside: dict[Domain, int] = {}
        for place, taken in zip(places, ranks, strict=True):
            domain = domain_of(place, level, levels)
            inside[domain] = inside.get(domain, 0) + taken
        found += [
            f"{taken} ranks send out of {level} {domain}"
            for domain, taken in inside.items()
            if 0 < taken < sum(ranks) and taken > uplinks.get((level, domain), float("inf"))
        ]
    return found


def fits(
    places: Sequence[Place],
    levels: Sequence[str],
    count: int,
    level: str | None,
    slices: Sequence[tuple[int, str]],
    uplinks: Uplinks | None = None,
) -> bool:
    """Is there a domain of the level (None: everything) that holds so many ranks as their slices have to lie?"""
    domains: dict[Domain, list[Place]] = {}
    for place in places:
        domains.setdefault(domain_of(place, level, levels), []).append(place)
    return any(_fill(inside, levels, count, slices, uplinks or {}) for inside in domains.values())


def _fill(
    places: Sequence[Place],
    levels: Sequence[str],
    count: int,
    slices: Sequence[tuple[int, str]],
    uplinks: Uplinks,
) -> bool:
    where = [[domain_of(place, level, levels) for place in places] for _, level in slices]
    least = min((size for size, _ in slices), default=count)
    seen: set[Hashable] = set()

    def rank(number: int, room: tuple[int, ...], inside: tuple[Domain, ...], before: int) -> bool:
        if number == count:
            ranks = [place.copies - left for place, left in zip(places, room, strict=True)]
            return not uplinks or not overloaded(places, levels, ranks, uplinks)
        inside = tuple(None if number % size == 0 else at for (size, _), at in zip(slices, inside, strict=True))
        before = 0 if number % least == 0 else before  # within one slice, ranks in the order of nodes are all there are
        state = (number, room, inside, before)
        if state in seen:
            return False
        seen.add(state)
        for i in range(before, len(places)):
            if room[i] and all(at is None or at == codes[i] for at, codes in zip(inside, where, strict=True)):
                taken = (*room[:i], room[i] - 1, *room[i + 1 :])
                if rank(number + 1, taken, tuple(codes[i] for codes in where), i):
                    return True
        return False

    return rank(0, tuple(place.copies for place in places), (None,) * len(slices), 0)


def complaints(
    places: Sequence[Place],
    levels: Sequence[str],
    nodes: Sequence[str],
    level: str | None,
    slices: Iterable[tuple[int, str]],
    uplinks: Uplinks | None = None,
) -> list[str]:
    """What is wrong with an arrangement: the node of each rank, said to lie in one domain of the level."""
    by_name = {place.name: place for place in places}
    used = [by_name[name] for name in nodes]
    found = [
        f"{place.name} takes {nodes.count(place.name)} and holds {place.copies}"
        for place in places
        if nodes.count(place.name) > place.copies
    ]
    if len({domain_of(place, level, levels) for place in used}) > 1:
        found.append(f"in more than one {level}")
    for size, within in slices:
        starts = range(0, len(used), size)
        found += [
            f"ranks from {start} lie in more than one {within}"
            for start in starts
            if len({domain_of(place, within, levels) for place in used[start : start + size]}) > 1
        ]
    found += overloaded(places, levels, [nodes.count(place.name) for place in places], uplinks or {})
    for one in (*levels, "host"):
        along = [domain_of(place, one, levels) for place in used]
        runs = 1 + sum(a != b for a, b in pairwise(along))
        if runs > len(set(along)):
            found.append(f"ranks go back to a {one} they had left: {nodes}")
    return found
