"""Claims of devices: which devices they have, which are free, and which nodes could give a pod what its claims lack.

Guarantees: a device that a claim has, or is about to get (`assume`), is given to no other. Answers follow from the
objects as they were told last; `changed` says of which nodes the marks may be others than when they were last taken.
What is asked for is kept under a name (`DeviceAsk.marked`), the same for all pods whose claims say the same, and is
looked at again only on nodes where something changed.
Left to others: writing to the API (`scheduler.device_binder`), creating claims from templates, freeing those of ended
pods.
"""

import hashlib
import marshal
from collections.abc import Iterable
from typing import NamedTuple

from dovetail.kubernetes.devices.allocating import allocate
from dovetail.kubernetes.devices.device import DeviceId, PoolId, Selects, Unallocatable
from dovetail.kubernetes.devices.inventory import Inventory
from dovetail.kubernetes.devices.selecting import Selecting
from dovetail.kubernetes.objects.selectors import node_terms
from dovetail.kubernetes_client.objects import Json, NamespacedName, is_controlled_by, namespaced_name, version_of
from dovetail.model.requests.pod_ask import DEVICES, DeviceAsk

MOST_CONSUMERS = 256
"""Pods that may use one claim at a time, as the API limits it."""


class Allotment(NamedTuple):
    """What a claim is given when its pod goes to a node; None if it has its devices already."""

    claim: Json
    allocation: Json | None


class DeviceClaims:
    def __init__(self, selects: Selects | None = None) -> None:
        self.inventory = Inventory()
        self._selects = selects or Selecting()
        self._classes: dict[str, Json] = {}
        self._claims: dict[NamespacedName, Json] = {}
        self._held: dict[NamespacedName, list[DeviceId]] = {}  # by claim, those that no other claim can have
        self._in_use: dict[DeviceId, int] = {}  # by how many claims
        self._assumed: dict[NamespacedName, Json] = {}  # allocations that the API has not been told of, or not answered
        self._asked: dict[str, list[Json]] = {}  # by mark: claims as pods ask for them
        self._fits: dict[str, dict[str, bool]] = {}  # by node and mark
        self._troubles: dict[str, dict[str, None]] = {}  # by mark: nodes on which it was Unallocatable
        self._changed: set[str] = set()
        self._asking: dict[NamespacedName, set[NamespacedName]] = {}  # by claim: pods that were told what it asks for
        self._affected_pods: set[NamespacedName] = set()

    # --- what there is ---------------------------------------------------------------------------------------

    def set_claim(self, claim: Json) -> None:
        place = namespaced_name(claim)
        if _is_older(claim, self._claims.get(place)):
            return  # our own write is known before the watch delivers older versions
        self._claims[place] = claim
        self._affected_pods |= self._asking.pop(place, set())
        if place not in self._assumed or _allocation(claim) is not None:
            self._assumed.pop(place, None)
            self._hold(place, _allocation(claim))

    def drop_claim(self, namespace: str, name: str) -> None:
        place = namespace, name
        self._claims.pop(place, None)
        self._assumed.pop(place, None)
        self._affected_pods |= self._asking.pop(place, set())
        self._hold(place, None)

    def set_class(self, device_class: Json) -> None:
        self._classes[device_class["metadata"]["name"]] = device_class
        self._look_at_all_again()

    def drop_class(self, name: str) -> None:
        self._classes.pop(name, None)
        self._look_at_all_again()

    @property
    def wanted(self) -> bool:
        """Does any pod ask for devices?"""
        return bool(self._asked)

    def keep_only(self, marks: Iterable[str]) -> None:
        """Only these marks are asked for from now on."""
        gone = self._asked.keys() - set(marks)
        for mark in gone:
            del self._asked[mark]
            self._troubles.pop(mark, None)
        for node, fits in self._fits.items():
            if not gone.isdisjoint(fits):
                self._changed.add(node)
                for mark in gone:
                    fits.pop(mark, None)

    # --- what it means ---------------------------------------------------------------------------------------

    def ask_of(self, pod: Json) -> DeviceAsk | None:
        """What the claims of a pending pod ask of nodes; None if it has none."""
        if not claims_devices(pod):
            return None
        for name, _ in _names(pod):
            if name is not None:
                self._asking.setdefault((pod["metadata"]["namespace"], name), set()).add(namespaced_name(pod))
        try:
            claims = self._claims_of(pod)
            allocated = [found for claim in claims if (found := _allocation(claim)) is not None]
            reach = [node_terms(allocation.get("nodeSelector")) for allocation in allocated]
            lacking = [claim for claim in claims if _allocation(claim) is None]
            mark = self._mark(lacking) if lacking else ""
        except Unallocatable as error:
            return DeviceAsk(refused=str(error))
        return DeviceAsk(available=tuple([terms for terms in reach if terms is not None]), marked=mark)

    def marks(self, node: str) -> dict[str, str]:
        """Labels for what is asked for and available from the node."""
        self._take_in()
        return {mark: "" for mark in self._asked if self._can_provide(node, mark)}

    def take_affected_pods(self) -> set[NamespacedName]:
        """Pods with a claim that changed since they were read: they may mean something else now."""
        found, self._affected_pods = self._affected_pods, set()
        return found

    def has_errors(self) -> bool:
        """Does any pending pod wait because of an error in a claim or a pool?"""
        return any(self._troubles.values())

    def take_changed(self) -> set[str]:
        """Nodes whose marks may differ from when they were last taken."""
        self._take_in()
        found, self._changed = self._changed, set()
        return found

    def allot(self, pod: Json, node: str) -> list[Allotment]:
        """What its claims get on that node. Raises Unallocatable."""
        claims = self._claims_of(pod)
        lacking = [claim for claim in claims if _allocation(claim) is None]
        found = self._allocate(lacking, node) if lacking else []
        if found is None:
            raise Unallocatable(f"the devices that it claims are not free on {node} any more")
        given = dict(zip(map(namespaced_name, lacking), found, strict=True))
        return [Allotment(claim, given.get(namespaced_name(claim))) for claim in claims]

    def assume(self, allotments: Iterable[Allotment]) -> None:
        """The devices count as allocated from now on."""
        for claim, allocation in allotments:
            if allocation is not None:
                self._assumed[namespaced_name(claim)] = allocation
                self._hold(namespaced_name(claim), allocation)

    def give_up(self, allotments: Iterable[Allotment]) -> None:
        """The assumed allocation failed, or the API has it now."""
        for claim, _ in allotments:
            place = namespaced_name(claim)
            if self._assumed.pop(place, None) is not None:
                self._affected_pods |= self._asking.pop(place, set())
                self._hold(place, _allocation(self._claims.get(place)))

    def idle(self, pod: Json) -> list[Json]:
        """Claims of a pod with devices that no other pod uses."""
        found = [self._claims.get((pod["metadata"]["namespace"], name)) for name, _ in _names(pod) if name]
        with_devices = [claim for claim in found if claim is not None and _allocation(claim) is not None]
        return [one for one in with_devices if all(user["uid"] == pod["metadata"]["uid"] for user in _users(one))]

    # --- inside ----------------------------------------------------------------------------------------------

    def _claims_of(self, pod: Json) -> list[Json]:
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        found = []
        for name, own in _names(pod):
            if name is None:
                raise Unallocatable("a claim of it has not been made from its template yet")
            claim = self._claims.get((namespace, name))
            if claim is None:
                raise Unallocatable(f"its resource claim {name} does not exist")
            if claim["metadata"].get("deletionTimestamp"):
                raise Unallocatable(f"its resource claim {name} is being deleted")
            if own and not is_controlled_by(claim, uid):
                raise Unallocatable(f"the resource claim {name} was not made for this pod")
            if (namespace, name) in self._assumed:
                raise Unallocatable(f"its resource claim {name} is being given its devices")
            users = _users(claim)
            if len(users) >= MOST_CONSUMERS and all(user["uid"] != uid for user in users):
                raise Unallocatable(f"its resource claim {name} is used by {MOST_CONSUMERS} pods, which is the limit")
            found.append(claim)
        return found

    def _mark(self, claims: list[Json]) -> str:
        """The label for what these ask for together; nodes that have it are marked from now on."""
        asked = [claim["spec"].get("devices") or {} for claim in claims]
        mark = DEVICES + hashlib.sha256(marshal.dumps(asked, 2)).hexdigest()[:16]
        self._take_in()
        if mark not in self._asked:
            self._asked[mark] = claims
            self._changed.update([node for node in self.inventory.nodes if self._can_provide(node, mark)])
        troubled = self._troubles.get(mark)
        if troubled and not any(self._can_provide(node, mark) for node in self.inventory.nodes):
            self._allocate(claims, next(iter(troubled)))  # raises the error again, with the names of these claims
        return mark

    def _can_provide(self, node: str, mark: str) -> bool:
        fits = self._fits.setdefault(node, {})
        if mark not in fits:
            troubled = self._troubles.setdefault(mark, {})
            troubled.pop(node, None)
            try:
                fits[mark] = self._allocate(self._asked[mark], node) is not None
            except Unallocatable:
                fits[mark], troubled[node] = False, None
        return fits[mark]

    def _allocate(self, claims: list[Json], node: str) -> list[Json] | None:
        pools = self.inventory.pools(node)
        return allocate(claims, pools, self._in_use, self._classes, self._selects, node)

    def _hold(self, place: NamespacedName, allocation: Json | None) -> None:
        held = _devices(allocation)
        before = self._held.get(place, [])
        if held == before:
            return
        for device in before:
            self._in_use[device] -= 1
            if not self._in_use[device]:
                del self._in_use[device]
        for device in held:
            self._in_use[device] = self._in_use.get(device, 0) + 1
        if held:
            self._held[place] = held
        else:
            self._held.pop(place, None)
        for pool in {PoolId(device.driver, device.pool) for device in (*before, *held)}:
            for node in self.inventory.nodes_with(pool):
                self._look_again(node)

    def _take_in(self) -> None:
        """What drivers offer may have changed."""
        for node in self.inventory.take_changed():
            self._look_again(node)

    def _look_again(self, node: str) -> None:
        self._fits.pop(node, None)
        self._changed.add(node)

    def _look_at_all_again(self) -> None:
        self._changed.update(self._fits)
        self._fits.clear()


def claims_devices(pod: Json) -> bool:
    return bool(pod["spec"].get("resourceClaims"))


def _names(pod: Json) -> list[tuple[str | None, bool]]:
    """Its claims, and whether each must have been made for it; None: it is yet to be made. Where a template turned out
    to need no claim there is none; one that is named twice is there once."""
    made = {one["name"]: one for one in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}
    found: list[tuple[str | None, bool]] = []
    for one in pod["spec"].get("resourceClaims") or ():
        if one.get("resourceClaimName"):
            found.append((one["resourceClaimName"], False))
        elif one["name"] not in made:
            found.append((None, True))
        elif made[one["name"]].get("resourceClaimName"):
            found.append((made[one["name"]]["resourceClaimName"], True))
    return list(dict.fromkeys(found))


def _is_older(claim: Json, known: Json | None) -> bool:
    if known is None or claim["metadata"].get("uid") != known["metadata"].get("uid"):
        return False
    return version_of(claim) < version_of(known)


def _allocation(claim: Json | None) -> Json | None:
    found: Json | None = ((claim or {}).get("status") or {}).get("allocation")
    return found


def _users(claim: Json) -> list[Json]:
    return (claim.get("status") or {}).get("reservedFor") or []


def _devices(allocation: Json | None) -> list[DeviceId]:
    """Those that no other claim can have meanwhile: access for administrators does not use a device."""
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    return [DeviceId(one["driver"], one["pool"], one["device"]) for one in results if not one.get("adminAccess")]
