"""Which endpoint comes first: the nearest to the asking node, in turn where several are equally near."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from dovetail.discovery.endpoint import Endpoint

UNKNOWN = 100.0  # how far a node is of which nothing is known: as far as any can be


def tiers(endpoints: Iterable[Endpoint], distances: Mapping[str, float] | None) -> list[list[Endpoint]]:
    """Nearest first, equally near ones together. Distances, from 0 to 100, are equal when their whole numbers are:
    measured ones are never the same to the last digit. `distances`: by node; None: nobody knows where the asker is."""
    if distances is None:
        ordered = sorted(endpoints, key=_identity)
        return [ordered] if ordered else []

    def far(one: Endpoint) -> int:
        return round(distances.get(one.node, UNKNOWN))

    ordered = sorted(endpoints, key=lambda one: (far(one), *_identity(one)))
    return [list(same) for _, same in groupby(ordered, key=far)]


def in_turn(found: Sequence[Sequence[Endpoint]], turn: int) -> list[Endpoint]:
    """All of them, each tier beginning with another one at each turn."""
    return [tier[(turn + place) % len(tier)] for tier in found for place in range(len(tier))]


def _identity(one: Endpoint) -> tuple[int, int]:
    return one.index, one.revision
