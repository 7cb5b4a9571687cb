"""Which devices the claims of a pod get on a node, all of them or none.

Guarantees: what is given satisfies every request of every claim together: counts, selectors of class and request,
taints, constraints, counters that devices share; no device that is in use is given to anybody but an administrator
(`adminAccess`), who may have any and takes it from nobody. The same question gets the same answer.
Devices that several claims may share (`allowMultipleAllocations`) are given to one claim at a time like all others, and
requests for a part of a device's capacity are refused: sharing is not supported.
Left to others: what there is (`inventory`), what is in use, and telling the API.
"""

from collections.abc import Collection, Mapping, Sequence

from dovetail.kubernetes.devices.asking import Wish, wishes_of
from dovetail.kubernetes.devices.device import DeviceId, DevicePool, Json, Selects, Unallocatable
from dovetail.kubernetes.devices.results import allocation_of
from dovetail.kubernetes.devices.searching import MOST_STEPS, DeviceSearch, TooManySteps


def allocate(
    claims: Sequence[Json],
    pools: Sequence[DevicePool],
    in_use: Collection[DeviceId],
    classes: Mapping[str, Json],
    selects: Selects,
    node: str,
) -> list[Json] | None:
    """`status.allocation` for each of the claims, all of one pod and none of them allocated; None if this node cannot
    satisfy all of them. Raises Unallocatable if no node can, or if that cannot be known yet."""
    wishes = wishes_of(claims, classes)
    _check_pools(wishes, pools, node)
    search = DeviceSearch(wishes, pools, in_use, selects, len(claims))
    try:
        if not search.run():
            return None
    except TooManySteps:
        names = ", ".join([f"{claim['metadata'].get('namespace', '')}/{claim['metadata']['name']}" for claim in claims])
        raise Unallocatable(
            f"claims {names}: whether node {node} can satisfy them was not found out in {MOST_STEPS:,} steps; "
            "ask for fewer devices a claim, or with fewer constraints"
        ) from None
    return [allocation_of(claim, chosen, classes, node) for claim, chosen in zip(claims, search.chosen, strict=True)]


def _check_pools(wishes: Sequence[Wish], pools: Sequence[DevicePool], node: str) -> None:
    """A request for all devices cannot be met while a pool is incomplete."""
    flawed = next((pool for pool in pools if pool.flaw), None)
    if flawed is None:
        return
    for wish in wishes:
        for ask in wish:
            if ask.count is None:
                pool = f"{flawed.id.driver}/{flawed.id.name}"
                raise Unallocatable(
                    f"{ask.words}: asks for all devices, but those of pool {pool} on node {node} are not known: "
                    f"{flawed.flaw}"
                )
