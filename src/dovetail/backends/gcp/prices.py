"""Current list prices from the Cloud Billing Catalog API, with an API key.

Google prices cores, memory and GPUs, not machines: the price of a machine is their sum. The prices of a family are
found by the descriptions of its parts ("N2 Instance Core running in Americas"). What is not found keeps the price of
the table.
Format: https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import structlog

from dovetail.backends.cloud_catalogue.price_table import PricedType, with_live_prices
from dovetail.backends.gcp.instance_request import machine_and_accelerator
from dovetail.backends.gcp.settings import GcpSettings

COMPUTE_ENGINE = "6F81-5844-456A"
ANSWER_WITHIN_S = 60.0
MOST_PAGES = 50
_PART = re.compile(
    r"^(?:Spot Preemptible )?(?P<family>[A-Z]\d[A-Z]?)(?: Predefined| AMD| Arm)? Instance (?P<part>Core|Ram) running",
    re.IGNORECASE,
)
_COMPUTE_OPTIMISED = re.compile(
    r"^(?:Spot Preemptible )?Compute optimized (?P<part>Core|Ram) running in ", re.IGNORECASE
)
_GPU = re.compile(
    r"^Nvidia (?:Tesla )?(?P<model>[A-Z]+\d+)(?: (?P<memory>\d+)GB)? GPU (?:attached to Spot .*)?running in ",
    re.IGNORECASE,
)

log = structlog.get_logger()
#: USD an hour of a part, by region, whether spot, family or GPU, and part.
Parts = dict[tuple[str, bool, str, str], float]


async def live_prices(settings: GcpSettings, rows: Sequence[PricedType]) -> list[PricedType]:
    """The rows with current prices. If the API does not answer, with those that they have."""
    try:
        parts = await _parts(settings)
    except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
        log.warning("current prices of Google could not be read; the shipped table counts", error=words)
        return list(rows)
    by_way: dict[bool, dict[tuple[str, str], float]] = {False: {}, True: {}}
    for row in rows:
        for spot, prices in by_way.items():
            price = _price(parts, row, spot)
            if price is not None:
                prices[row.region, row.type] = price
    return with_live_prices(rows, by_way[False], by_way[True], time.strftime("%Y-%m-%d", time.gmtime()))


def _price(parts: Parts, row: PricedType, spot: bool) -> float | None:
    family = machine_and_accelerator(row.type)[0].split("-", 1)[0].upper()
    core, memory = parts.get((row.region, spot, family, "core")), parts.get((row.region, spot, family, "ram"))
    if core is None or memory is None:
        return None
    price = core * row.vcpu + memory * row.memory_gib
    if row.gpu:
        gpu = parts.get((row.region, spot, _gpu_name(row), "gpu"))
        if gpu is None:
            return None
        price += gpu * row.gpu
    return round(price, 6)


def _gpu_name(row: PricedType) -> str:
    """Of the A100 there are two sorts, which the descriptions tell apart by the memory of the larger one."""
    return f"{row.gpu_model}-80" if row.gpu_model == "A100" and row.gpu_memory_gib == 80 else row.gpu_model


async def _parts(settings: GcpSettings) -> Parts:
    assert settings.price_key is not None
    found: Parts = {}
    query = {"currencyCode": "USD", "pageSize": "5000"}
    key = {"X-Goog-Api-Key": settings.price_key.get_secret_value()}  # not in the address, which logs may show
    async with httpx.AsyncClient(base_url=settings.price_url, timeout=ANSWER_WITHIN_S, headers=key) as client:
        for _ in range(MOST_PAGES):
            answer = (await client.get(f"/v1/services/{COMPUTE_ENGINE}/skus", params=query)).raise_for_status().json()
            for sku in answer.get("skus", []):
                _add(found, sku, settings.regions)
            if not answer.get("nextPageToken"):
                break
            query["pageToken"] = answer["nextPageToken"]
    return found


def _add(found: Parts, sku: Mapping[str, Any], regions: Sequence[str]) -> None:
    usage = sku["category"]["usageType"]
    name = _name(str(sku["description"]))
    if name is None or usage not in ("OnDemand", "Preemptible"):
        return
    for region in sku.get("serviceRegions", []):
        if region in regions:
            found[region, usage == "Preemptible", *name] = _hourly(sku)


def _name(description: str) -> tuple[str, str] | None:
    """Family or GPU, and which part of it; None for what is no part of a plain machine."""
    part = _PART.match(description)
    if part is not None:
        return part["family"].upper(), part["part"].lower()
    optimised = _COMPUTE_OPTIMISED.match(description)
    if optimised is not None:
        return "C2", optimised["part"].lower()
    gpu = _GPU.match(description)
    if gpu is None:
        return None
    model = gpu["model"].upper()
    return (f"{model}-80" if model == "A100" and gpu["memory"] == "80" else model), "gpu"


def _hourly(sku: Mapping[str, Any]) -> float:
    """The last tier counts: the first may be a free one."""
    price = sku["pricingInfo"][0]["pricingExpression"]["tieredRates"][-1]["unitPrice"]
    return int(price.get("units", 0)) + int(price.get("nanos", 0)) / 1e9
