"""Rows of the catalogue as types of machines: each type in each zone, on demand or spot, as the node that it would be.

The name of a type is `BACKEND-TYPE-ZONE`, with `-spot` at its end for spot. What a provider needs for a launch stands
in the labels of the node. Capacity is what is left for work: the system and the agent take a part of the memory. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.backends.cloud_catalogue.emissions import watts
from dovetail.backends.cloud_catalogue.price_table import PricedType, carbon_table
from dovetail.backends.cloud_catalogue.selection import CloudSelection
from dovetail.backends.machines.provider import MachineType
from dovetail.model.device import Gpus
from dovetail.model.node import Node
from dovetail.model.offer import Offer
from dovetail.model.resources import Capacity

REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
CAPACITY_TYPE = "capacity-type"
SPOT, ON_DEMAND = "spot", "on-demand"

GIB = 2**30
FOR_WORK = 0.925  # of the memory; what Karpenter reckons with, too
#: The chance that a spot machine is taken back within an hour. Clouds publish ranges over a month at best, so these are
#: estimates; machines with GPUs are scarcer.
TAKEN_BACK, TAKEN_BACK_GPU = 0.01, 0.03


@dataclass(frozen=True, slots=True)
class CatalogueView:
    """What a cloud offers now. `zones`: by region and type. `spot_usd_h`: by zone and type, where the price of a zone
    is known; else that of the row counts. `quota`: the name of the quota of a type; `True`: as spot."""

    rows: Sequence[PricedType]
    zones: Mapping[tuple[str, str], Sequence[str]]
    spot_usd_h: Mapping[tuple[str, str], float] = field(default_factory=dict)
    quota: Callable[[PricedType, bool], str] = lambda _row, _spot: ""


def offered_types(backend: str, view: CatalogueView, wanted: CloudSelection) -> list[MachineType]:
    """Those that are wanted and have a price, cheapest first."""
    found = [
        _machine_type(backend, row, zone, spot, price, wanted.start_up, view.quota(row, spot))
        for row, zone, spot, price in _priced(view, wanted)
    ]
    return sorted(found, key=lambda one: (_price_of(one), one.name))


def _priced(view: CatalogueView, wanted: CloudSelection) -> Iterator[tuple[PricedType, str, bool, float]]:
    for row in _wanted_rows(view.rows, wanted):
        for zone in view.zones.get((row.region, row.type), ()):
            if not wanted.wants_zone(zone):
                continue
            for spot in wanted.ways():
                price = view.spot_usd_h.get((zone, row.type), row.spot_usd_h) if spot else row.on_demand_usd_h
                if price is not None and wanted.affords(price):
                    yield row, zone, spot, price


def _wanted_rows(rows: Iterable[PricedType], wanted: CloudSelection) -> Iterator[PricedType]:
    regions = set(wanted.regions)
    return (row for row in rows if row.region in regions and wanted.wants_type(row.type))


def _price_of(one: MachineType) -> float:
    return 0.0 if one.node.offer is None else one.node.offer.price_per_hour


def _machine_type(
    backend: str, row: PricedType, zone: str, spot: bool, price: float, start_up_s: float, quota: str
) -> MachineType:
    gpus = [] if not row.gpu else [_gpus(row)]
    node = Node(
        name=f"{backend}-{row.type}-{zone}{'-spot' if spot else ''}",
        backend=backend,
        capacity=Capacity(cpu=row.vcpu, memory=int(row.memory_gib * GIB * FOR_WORK)),
        labels={
            REGION: row.region,
            ZONE: zone,
            INSTANCE_TYPE: row.type,
            CAPACITY_TYPE: SPOT if spot else ON_DEMAND,
        },
        gpus=gpus,
        offer=Offer(
            price_per_hour=price,
            running=False,
            start_up=start_up_s,
            spot=spot,
            interruption=(TAKEN_BACK_GPU if row.gpu else TAKEN_BACK) if spot else 0.0,
            carbon_g_per_kwh=carbon_table(row.provider).get(row.region),
            watts=watts(row.vcpu, row.memory_gib, row.gpu, row.gpu_model),
            place=row.place,
        ),
    )
    return MachineType(node, quota=quota, quota_units=row.vcpu)


def _gpus(row: PricedType) -> Gpus:
    return Gpus(count=row.gpu, model=row.gpu_model or None, memory=int(row.gpu_memory_gib * GIB))
