"""The list prices that are shipped for use without a price API: one CSV file a provider, each row with its date.

Columns: provider, region, type, vcpu, memory_gib, gpu, gpu_model, gpu_memory_gib (of one GPU), on_demand_usd_h,
spot_usd_h (empty: not offered), date. A spot price is the median over the zones of the region on that day.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class PricedType:
    """A type of machine in one region. A price of None: not offered in that way, or not known."""

    provider: str
    region: str
    type: str
    vcpu: float
    memory_gib: float
    gpu: int
    gpu_model: str
    gpu_memory_gib: float
    on_demand_usd_h: float | None
    spot_usd_h: float | None
    date: str

    @property
    def place(self) -> str:
        return f"{self.provider}/{self.region}"


@cache
def price_table(provider: str) -> tuple[PricedType, ...]:
    """All rows of a provider; empty without a table."""
    return tuple(_row(cells) for cells in _rows(f"{provider}.csv"))


@cache
def carbon_table(provider: str) -> Mapping[str, float]:
    """Grams of CO2 a kWh of the grid, by region."""
    return {cells["region"]: float(cells["g_per_kwh"]) for cells in _rows(f"{provider}_carbon.csv")}


def with_live_prices(
    rows: Iterable[PricedType],
    on_demand: Mapping[tuple[str, str], float],
    spot: Mapping[tuple[str, str], float],
    date: str,
) -> list[PricedType]:
    """The rows with prices that were read now, by region and type; where there is none, the older one stays."""
    merged = []
    for row in rows:
        key = row.region, row.type
        if key in on_demand or key in spot:
            fixed, changing = on_demand.get(key, row.on_demand_usd_h), spot.get(key, row.spot_usd_h)
            merged.append(replace(row, on_demand_usd_h=fixed, spot_usd_h=changing, date=date))
        else:
            merged.append(row)
    return merged


def _rows(name: str) -> Iterator[dict[str, str]]:
    found = files(__package__) / name
    if found.is_file():
        with found.open(encoding="utf-8") as lines:
            yield from csv.DictReader(lines)


def _row(cells: Mapping[str, str]) -> PricedType:
    return PricedType(
        cells["provider"],
        cells["region"],
        cells["type"],
        float(cells["vcpu"]),
        float(cells["memory_gib"]),
        int(cells["gpu"]),
        cells["gpu_model"],
        float(cells["gpu_memory_gib"] or 0),
        _price(cells["on_demand_usd_h"]),
        _price(cells["spot_usd_h"]),
        cells["date"],
    )


def _price(cell: str) -> float | None:
    return float(cell) if cell else None
