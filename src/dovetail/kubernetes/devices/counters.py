"""Counters that devices of a pool share: what there is, what each device draws, what is left.

A partition of a device can be had only while the counters that it draws on, shared with the other partitions, suffice.
Amounts are nano units, as exact as Kubernetes writes them. A counter that more is drawn from than there is (a driver
may have taken some back) refuses devices that draw on it, and no others.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from dovetail.kubernetes.devices.device import DeviceId, DevicePool
from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.quantity import BadQuantity, nanos

#: Set and counter, and how much of it.
Draw = tuple[tuple[str, str], int]


class BadCounters(Exception):
    """Counters that contradict each other; says how."""


def counters_of(offers: Iterable[Json]) -> dict[str, dict[str, int]]:
    """The totals of each set's counters, from the specs of a pool's slices. Raises BadCounters."""
    found: dict[str, dict[str, int]] = {}
    for offer in offers:
        for counter_set in offer.get("sharedCounters") or ():
            name = counter_set["name"]
            if name in found:
                raise BadCounters(f"counter set {name} is defined twice")
            counters = (counter_set.get("counters") or {}).items()
            found[name] = {counter: _amount(said, counter, f"counter set {name}") for counter, said in counters}
    return found


def check_draws(body: Json, counters: Mapping[str, Mapping[str, int]]) -> None:
    """Raises BadCounters if the device uses counters that do not exist."""
    name = body["name"]
    for drawn in body.get("consumesCounters") or ():
        counter_set = drawn["counterSet"]
        if counter_set not in counters:
            raise BadCounters(f"device {name} draws on counter set {counter_set}, which the pool does not have")
        for counter, said in (drawn.get("counters") or {}).items():
            if counter not in counters[counter_set]:
                raise BadCounters(f"device {name} draws on counter {counter}, which set {counter_set} does not have")
            _amount(said, counter, f"device {name}")


def draws_of(body: Json) -> tuple[Draw, ...]:
    """For a device of a pool without a flaw."""
    return tuple(
        [
            ((drawn["counterSet"], counter), nanos(str(said.get("value") or "0")))
            for drawn in body.get("consumesCounters") or ()
            for counter, said in (drawn.get("counters") or {}).items()
        ]
    )


class Counters:
    """What is left of one pool's counters while devices are chosen."""

    def __init__(self, pool: DevicePool, in_use: Container[DeviceId]) -> None:
        self._left = {(name, key): amount for name, one in pool.counters.items() for key, amount in one.items()}
        for device in pool.sharing:
            if device.id in in_use:
                self._draw(draws_of(device.body))

    def take(self, draws: Sequence[Draw]) -> bool:
        """False: not enough is left, and nothing was taken."""
        self._draw(draws)
        if all(self._left[counter] >= 0 for counter, _amount in draws):
            return True
        self.give_back(draws)
        return False

    def give_back(self, draws: Iterable[Draw]) -> None:
        for counter, amount in draws:
            self._left[counter] += amount

    def _draw(self, draws: Iterable[Draw]) -> None:
        for counter, amount in draws:
            self._left[counter] -= amount


def _amount(said: Json, counter: str, owner: str) -> int:
    try:
        return nanos(str(said.get("value") or "0"))
    except BadQuantity as error:
        raise BadCounters(f"{owner}, counter {counter}: {error}") from error
