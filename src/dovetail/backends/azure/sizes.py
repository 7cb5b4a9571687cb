"""Which sizes a subscription may use, and in which zones: Azure's list of SKUs says so. Pure."""

from collections.abc import Iterable
from typing import Any


def usable_zones(skus: Iterable[Any], region: str) -> dict[str, set[str] | None]:
    """The numbers of the zones of each size; None: only without a zone. Sizes that are not offered are missing."""
    found: dict[str, set[str] | None] = {}
    for sku in skus:
        here = [place for place in sku.location_info or [] if str(place.location).lower() == region]
        limits = sku.restrictions or []
        if sku.resource_type != "virtualMachines" or not here or any(one.type == "Location" for one in limits):
            continue
        closed = {zone for one in limits if one.type == "Zone" for zone in _zones(one.restriction_info)}
        offered = set(here[0].zones or [])
        found[str(sku.name)] = offered - closed if offered else None
    return found


def _zones(info: Any) -> list[str]:
    return list(info.zones or []) if info is not None else []
