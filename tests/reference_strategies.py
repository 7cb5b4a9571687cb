"""The oracle for strategies: what a domain is worth to a gang, node by node from the documented features.

It knows nothing of arrays, and nothing of the exchange of data, which has an oracle of its own: of domains within a
hundredth of the sum of all weights it says only that any of them may be taken.
"""

from collections.abc import Mapping, Sequence

from tests.reference import ReferenceNode
from tests.reference_gangs import Domain, Place, domain_of

NEAR = 0.01
Member = tuple[ReferenceNode, Place]


def worth(
    members: Sequence[Member], inner: str, levels: Sequence[str], count: int, needs: Mapping[str, int]
) -> dict[str, float]:
    """The features of one domain. `inner`: the next narrower level."""
    shares = [1.0]
    for resource in needs:
        capacity = sum(node.capacity.get(resource, 0) for node, _ in members)
        free = sum(max(0, node.capacity.get(resource, 0) - node.allocated.get(resource, 0)) for node, _ in members)
        shares.append(free / capacity if capacity else 0.0)
    held: dict[Domain, int] = {}
    for _, place in members:
        inside = domain_of(place, inner, levels)
        held[inside] = held.get(inside, 0) + place.copies
    return {
        "availability": min(shares),
        "utilisation": 1.0 - min(shares),
        "alignment": min(1.0, max(held.values()) / count),
        "tightness": min(1.0, count / max(1, sum(held.values()))),
        "history": history([node for node, _ in members]),
    }


def history(nodes: Sequence[ReferenceNode]) -> float:
    ended = [ok for node in nodes for ok in node.ended]
    noted = [
        (slowdown, 0.9 ** (len(node.slowdowns) - 1 - index))
        for node in nodes
        for index, slowdown in enumerate(node.slowdowns)
    ]
    slowdown = sum(one * weight for one, weight in noted) / sum(weight for _, weight in noted) if noted else 1.0
    return (sum(ended) / len(ended) if ended else 1.0) * min(1.0, 1.0 / slowdown)


def best_domains(features: Mapping[Domain, Mapping[str, float]], weights: Mapping[str, float]) -> set[Domain]:
    """Those that may be taken, of the domains that hold the gang."""
    points = {
        domain: sum(weight * found[name] for name, weight in weights.items()) for domain, found in features.items()
    }
    near = NEAR * sum(map(abs, weights.values())) + 1e-9
    return {domain for domain, total in points.items() if total >= max(points.values()) - near}
