"""Which devices the claims of a pod get on a node, all of them or none.

Guarantees: what is given satisfies every request of every claim together: counts, selectors of class and request,
taints, constraints, counters that devices share. A device in use is given only to requests with `adminAccess`, which
may have any device and take it from no other claim. The same question gets the same answer.
Devices that several claims may share (`allowMultipleAllocations`) are given to one claim at a time like all others, and
requests for a part of a device's capacity are refused: sharing is not supported.
Left to others: what there is (`inventory`), what is in use, and telling the API.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from dovetail.kubernetes.devices.asking import MOST_RESULTS, Ask, Wish, wishes_of
from dovetail.kubernetes.devices.counters import Counters, Draw, draws_of
from dovetail.kubernetes.devices.device import DeviceId, DevicePool, SelectorError, Selects, Unallocatable
from dovetail.kubernetes.devices.results import Choice, allocation_of
from dovetail.kubernetes_client.objects import Json, namespaced_name

MOST_STEPS = 100_000
"""Devices looked at before a search gives up."""


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
    search = _DeviceSearch(wishes, pools, in_use, selects, len(claims))
    try:
        if not search.run():
            return None
    except _TooManySteps:
        names = ", ".join(["/".join(namespaced_name(claim)) for claim in claims])
        raise Unallocatable(
            f"claims {names}: whether node {node} can satisfy them was not found out in {MOST_STEPS:,} steps; "
            "ask for fewer devices a claim, or with fewer constraints"
        ) from None
    return [allocation_of(claim, chosen, classes, node) for claim, chosen in zip(claims, search.chosen, strict=True)]


def _check_pools(wishes: Sequence[Wish], pools: Sequence[DevicePool], node: str) -> None:
    """A request for all devices cannot be met while a pool is incomplete."""
    flawed = next((pool for pool in pools if pool.flaw), None)
    ask = next((ask for wish in wishes for ask in wish if ask.count is None), None)
    if flawed is not None and ask is not None:
        pool = f"{flawed.id.driver}/{flawed.id.name}"
        raise Unallocatable(
            f"{ask.words}: asks for all devices, but those of pool {pool} on node {node} are not known: {flawed.flaw}"
        )


class _TooManySteps(Exception):
    """The search gave up; there may be a solution."""


class _Point(NamedTuple):
    """Where a search stands: at which request, which of its asks, how many devices of it are taken, and the first that
    may come next. Without an ask: before the choice of one."""

    wish: int
    ask: Ask | None = None
    taken: int = 0
    start: int = 0


class _DeviceSearch:
    """One attempt. `chosen`: by claim, what was found.

    Requests in order, and for each the devices in order; the first solution wins, as in a plain search with
    backtracking. Three things make it shorter and change nothing in what it finds: the devices of one request are taken
    in ascending order only, since their order makes no difference; a device is not tried if another that no request can
    tell from it led nowhere; and a request stops where fewer devices are left than it needs. It remains exponential on
    adversarial claims and so gives up after MOST_STEPS. Selectors are evaluated when a device's turn comes, so a
    selector that fails on a device that is never tried does no harm.
    """

    def __init__(
        self,
        wishes: Sequence[Wish],
        pools: Sequence[DevicePool],
        in_use: Collection[DeviceId],
        selects: Selects,
        claims: int,
    ) -> None:
        self.chosen: list[list[Choice]] = [[] for _ in range(claims)]
        self._wishes = wishes
        self._pools = [pool for pool in pools if not pool.flaw]
        self._devices = [(device, number) for number, pool in enumerate(self._pools) for device in pool.devices]
        self._in_use = in_use
        self._selects = selects
        self._taken: set[DeviceId] = set()  # by this search, for requests that want a device for themselves
        self._in_claim: list[set[DeviceId]] = [set() for _ in range(claims)]
        self._counters: dict[int, Counters] = {}  # by pool
        self._selected: dict[tuple[Ask, int], bool] = {}
        self._draws: dict[int, tuple[Draw, ...]] = {}
        self._kinds: dict[int, object] = {}
        self._steps = 0
        self._all = {ask: self._all_of(ask) for wish in wishes for ask in wish if ask.count is None}

    def run(self) -> bool:
        """Whether there is a solution. Raises _TooManySteps, and Unallocatable if a selector fails."""
        # Generators on a stack rather than recursion: a pod may ask for more devices than calls can be nested.
        stack = [self._ways(_Point(0))] if self._wishes else []
        while stack:
            point = next(stack[-1], None)
            if point is None:
                stack.pop()
            elif point.wish == len(self._wishes):
                return True
            else:
                stack.append(self._ways(point))
        return not self._wishes

    def _ways(self, at: _Point) -> Iterator[_Point]:
        """Each way on from there: devices are taken while it is followed, and given back after."""
        if at.ask is None:
            for ask in self._wishes[at.wish]:
                size = len(self._all[ask]) if ask.count is None else ask.count
                if size and len(self.chosen[ask.claim]) + size <= MOST_RESULTS:
                    yield _Point(at.wish, ask)
        elif at.ask.count is None:
            yield from self._take_all(at.wish, at.ask)
        else:
            yield from self._take_one(at, at.ask, at.ask.count - at.taken)

    def _take_all(self, wish: int, ask: Ask) -> Iterator[_Point]:
        positions = self._all[ask]
        taken = 0
        while taken < len(positions) and self._take(ask, positions[taken]):
            taken += 1
        if taken == len(positions):
            yield _Point(wish + 1)
        for position in reversed(positions[:taken]):
            self._give_back(ask, position)

    def _take_one(self, at: _Point, ask: Ask, needed: int) -> Iterator[_Point]:
        failed: set[object] = set()
        for position in range(at.start, len(self._devices) - needed + 1):
            usable = self._is_free(ask, position) and self._is_selected(ask, position)
            if not usable or (failed and self._kind(position) in failed):
                self._step()
            elif self._take(ask, position):
                yield _Point(at.wish, ask, at.taken + 1, position + 1) if needed > 1 else _Point(at.wish + 1)
                self._give_back(ask, position)
                failed.add(self._kind(position))

    def _take(self, ask: Ask, position: int) -> bool:
        """False: it cannot be combined with what is chosen, and nothing changed."""
        self._step()
        device, pool = self._devices[position]
        if not self._is_free(ask, position) or not ask.tolerates(device):
            return False
        draws = () if ask.admin else self._draws_of(position)
        if draws and not self._counters_of(pool).take(draws):
            return False
        for number, rule in enumerate(ask.rules):
            if not rule.add(device):
                for added in ask.rules[:number]:
                    added.remove_last()
                if draws:
                    self._counters_of(pool).give_back(draws)
                return False
        if not ask.admin:
            self._taken.add(device.id)
        self._in_claim[ask.claim].add(device.id)
        self.chosen[ask.claim].append((ask, device))
        return True

    def _give_back(self, ask: Ask, position: int) -> None:
        """The last that was taken."""
        device, pool = self._devices[position]
        self.chosen[ask.claim].pop()
        self._in_claim[ask.claim].remove(device.id)
        for rule in ask.rules:
            rule.remove_last()
        if not ask.admin:
            self._taken.remove(device.id)
            if draws := self._draws_of(position):
                self._counters_of(pool).give_back(draws)

    def _is_free(self, ask: Ask, position: int) -> bool:
        """No claim gets a device twice. Access for administrators is independent of who else uses the device."""
        id_ = self._devices[position][0].id
        return id_ not in self._in_claim[ask.claim] and (ask.admin or not self._is_used(id_))

    def _is_used(self, id_: DeviceId) -> bool:
        return id_ in self._in_use or id_ in self._taken

    def _is_selected(self, ask: Ask, position: int) -> bool:
        found = self._selected.get((ask, position))
        if found is None:
            device = self._devices[position][0]
            try:
                found = all(self._selects(expression, device) for expression in ask.expressions)
            except SelectorError as error:
                raise Unallocatable(f"{ask.words}: {error}") from error
            self._selected[ask, position] = found
        return found

    def _all_of(self, ask: Ask) -> list[int]:
        return [position for position in range(len(self._devices)) if self._is_selected(ask, position)]

    def _kind(self, position: int) -> object:
        """Equal for devices that can stand for each other in whatever is still to be chosen."""
        device, _pool = self._devices[position]
        found = self._kinds.get(position)
        if found is None:
            found = self._kinds[position] = self._seen_of(position)
        return found, self._is_used(device.id)

    def _seen_of(self, position: int) -> object:
        """All that any of the requests can see of a device."""
        device, pool = self._devices[position]
        asks = [ask for wish in self._wishes for ask in wish]
        try:
            selected = tuple([self._is_selected(ask, position) for ask in asks])
        except Unallocatable:
            return position  # not known to be like any other; the error is raised if its turn comes
        tolerated = tuple([ask.tolerates(device) for ask in asks])
        values = tuple([rule.value(device) for rule in dict.fromkeys([rule for ask in asks for rule in ask.rules])])
        draws = self._draws_of(position)
        return selected, tolerated, values, (pool, *draws) if draws else ()

    def _draws_of(self, position: int) -> tuple[Draw, ...]:
        found = self._draws.get(position)
        if found is None:
            found = self._draws[position] = draws_of(self._devices[position][0].body)
        return found

    def _counters_of(self, pool: int) -> Counters:
        found = self._counters.get(pool)
        if found is None:
            found = self._counters[pool] = Counters(self._pools[pool], self._in_use)
        return found

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise _TooManySteps
