"""When bandwidth is probed: trains of packets in time slots, of which two never share a link.

A train takes what the links between two hosts give, for some milliseconds, so two on one link would measure each other.
Inside one domain of the narrowest level there is one train at a time; through the wider network there is one at a time
as well. In a tree, two trains of one slot then share no link. Where domains are not known, all nodes are in one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Pair = tuple[str, str]
_WIDER_NETWORK = ("", "the wider network")


@dataclass(frozen=True, slots=True)
class Train:
    """`at_s`: when it starts, counted from the beginning of the plan."""

    sender: str
    receiver: str
    at_s: float


def plan_trains(
    pairs: Sequence[Pair], domains: Mapping[str, str], slots: int, slot_s: float, most_in_slot: int
) -> list[Train]:
    """As many of the pairs as fit into the slots; those that come first are preferred."""
    waiting = list(pairs)
    found: list[Train] = []
    for slot in range(slots):
        taken: set[tuple[str, str]] = set()
        left: list[Pair] = []
        in_slot = 0
        for place, pair in enumerate(waiting):
            if in_slot >= most_in_slot:
                left += waiting[place:]
                break
            needed = set(links_of(pair, domains))
            if needed & taken:
                left.append(pair)
                continue
            taken |= needed
            in_slot += 1
            found.append(Train(*pair, slot * slot_s))
        waiting = left
        if not waiting:
            break
    return found


def links_of(pair: Pair, domains: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """What a train between two nodes takes for itself. Nodes in no domain count as one domain."""
    one, other = (("domain", domains.get(node, "")) for node in pair)
    return (one,) if one == other else (one, other, _WIDER_NETWORK)


def longest_ago_first(pairs: Iterable[Pair], measured_at: Mapping[Pair, float]) -> list[Pair]:
    """Pairs that were never measured come first, then the oldest."""
    return sorted(pairs, key=lambda pair: (measured_at.get(pair, float("-inf")), pair))
