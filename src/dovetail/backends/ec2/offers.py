"""What EC2 offers: instance types of the wanted regions with their shape, zones and prices."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from dovetail.backends.cloud_catalogue.offered_types import CatalogueView, offered_types
from dovetail.backends.cloud_catalogue.price_table import PricedType, price_table, with_live_prices
from dovetail.backends.cloud_catalogue.selection import SpotUse
from dovetail.backends.ec2.clients import Ec2Clients
from dovetail.backends.ec2.prices import on_demand_prices, spot_prices
from dovetail.backends.ec2.quotas import quota_name
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.provider import MachineType

PROVIDER = "aws"
log = structlog.get_logger()


@dataclass(slots=True)
class RegionOffers:
    """`zones`: by region and instance type. `spot`: by zone and instance type."""

    rows: list[PricedType] = field(default_factory=list)
    zones: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    spot: dict[tuple[str, str], float] = field(default_factory=dict)


def types_of(backend: str, regions: Iterable[RegionOffers], settings: Ec2Settings) -> list[MachineType]:
    """As types of machines, cheapest first."""
    all_of = RegionOffers()
    for one in regions:
        all_of.rows += one.rows
        all_of.zones.update(one.zones)
        all_of.spot.update(one.spot)

    def quota(row: PricedType, spot: bool) -> str:
        return quota_name(row.region, row.type, spot=spot)

    return offered_types(backend, CatalogueView(all_of.rows, all_of.zones, all_of.spot, quota), settings)


def read_region(clients: Ec2Clients, region: str, settings: Ec2Settings, backend: str) -> RegionOffers:
    """Blocks. Raises where types or zones cannot be read."""
    ec2 = clients.ec2(region)
    filters = [{"Name": "instance-type", "Values": list(settings.types)}]
    found = RegionOffers()
    offerings = ec2.get_paginator("describe_instance_type_offerings")
    for page in offerings.paginate(LocationType="availability-zone", Filters=filters):
        for row in page["InstanceTypeOfferings"]:
            if not settings.subnets or row["Location"] in settings.subnets:
                found.zones.setdefault((region, row["InstanceType"]), []).append(row["Location"])
    listed = {row.type: row for row in price_table(PROVIDER) if row.region == region}
    for page in ec2.get_paginator("describe_instance_types").paginate(Filters=filters):
        found.rows += [
            priced_type(kind, region, listed.get(kind["InstanceType"]))
            for kind in page["InstanceTypes"]
            if _is_wanted(kind, settings)
        ]
    if settings.live_prices:
        _read_prices(clients, region, settings, backend, found)
    unpriced = sum(row.on_demand_usd_h is None and row.spot_usd_h is None for row in found.rows)
    if unpriced:
        log.info("instance types without a known price are not offered", backend=backend, region=region, types=unpriced)
    return found


def _read_prices(clients: Ec2Clients, region: str, settings: Ec2Settings, backend: str, found: RegionOffers) -> None:
    on_demand: dict[tuple[str, str], float] = {}
    try:
        on_demand = {(region, name): price for name, price in on_demand_prices(clients.pricing(), region).items()}
    except Exception as error:  # not allowed, not reachable from here, or not what was expected
        _say_listed(backend, region, "on demand", error)
    if settings.spot is not SpotUse.NEVER:
        try:
            found.spot = spot_prices(clients.ec2(region), [row.type for row in found.rows])
        except Exception as error:
            _say_listed(backend, region, "spot", error)
    found.rows = with_live_prices(found.rows, on_demand, {}, time.strftime("%Y-%m-%d", time.gmtime()))


def _say_listed(backend: str, region: str, sort: str, error: Exception) -> None:
    words = f"{type(error).__name__}: {error}"[:300]
    log.info("prices are those of the shipped table", backend=backend, region=region, sort=sort, error=words)


def priced_type(kind: Mapping[str, Any], region: str, listed: PricedType | None) -> PricedType:
    """`kind`: as DescribeInstanceTypes describes it. `listed`: its row in the table."""
    gpus = kind.get("GpuInfo", {}).get("Gpus", [])
    first = gpus[0] if gpus else {}
    return PricedType(
        PROVIDER,
        region,
        kind["InstanceType"],
        float(kind["VCpuInfo"]["DefaultVCpus"]),
        kind["MemoryInfo"]["SizeInMiB"] / 1024,
        sum(int(group.get("Count", 0)) for group in gpus),
        str(first.get("Name", "")).replace(" ", "-"),
        first.get("MemoryInfo", {}).get("SizeInMiB", 0) / 1024,
        None if listed is None else listed.on_demand_usd_h,
        None if listed is None else listed.spot_usd_h,
        "" if listed is None else listed.date,
    )


def _is_wanted(kind: Mapping[str, Any], settings: Ec2Settings) -> bool:
    """Bare metal takes many minutes to start: only if a pattern names it."""
    architectures = kind.get("ProcessorInfo", {}).get("SupportedArchitectures", [])
    metal = kind.get("BareMetal", False) and not any("metal" in pattern for pattern in settings.types)
    return settings.architecture in architectures and not metal
