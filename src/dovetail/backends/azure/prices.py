"""Current list prices from the Azure Retail Prices API, which anybody may ask.

Format: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices
"""

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import httpx
import structlog

from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.cloud_catalogue.price_table import PricedType, with_live_prices

SIZES_A_QUESTION = 15  # the filter is part of an address, which may not grow without end
ANSWER_WITHIN_S = 30.0
MOST_PAGES = 100

log = structlog.get_logger()


async def live_prices(settings: AzureSettings, rows: Sequence[PricedType]) -> list[PricedType]:
    """The rows with current prices. If the API does not answer, with those that they have."""
    on_demand: dict[tuple[str, str], float] = {}
    spot: dict[tuple[str, str], float] = {}
    wanted = [row for row in rows if row.region in settings.regions and settings.wants_type(row.type)]
    try:
        # The answer is public, so a fixed authority of its own is not needed; `ca` is for machines in between.
        async with httpx.AsyncClient(timeout=ANSWER_WITHIN_S, verify=_trusted(settings)) as client:
            for question in _questions(wanted):
                async for item in _items(client, settings.price_url, question):
                    prices = spot if _is_spot(item) else on_demand
                    prices[str(item["armRegionName"]), str(item["armSkuName"])] = float(item["retailPrice"])
    except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
        log.warning("current prices of Azure could not be read; the shipped table counts", error=words)
        return list(rows)
    return with_live_prices(rows, on_demand, spot, time.strftime("%Y-%m-%d", time.gmtime()))


def _questions(rows: Sequence[PricedType]) -> Iterator[str]:
    by_region: dict[str, list[str]] = {}
    for row in rows:
        by_region.setdefault(row.region, []).append(row.type)
    for region, sizes in by_region.items():
        for start in range(0, len(sizes), SIZES_A_QUESTION):
            names = " or ".join(f"armSkuName eq '{size}'" for size in sizes[start : start + SIZES_A_QUESTION])
            kind = "serviceName eq 'Virtual Machines' and priceType eq 'Consumption'"
            yield f"{kind} and armRegionName eq '{region}' and ({names})"


async def _items(client: httpx.AsyncClient, url: str, question: str) -> AsyncIterator[Mapping[str, Any]]:
    """Of machines with Linux that are paid by the hour."""
    page: str | None = str(httpx.URL(url, params={"$filter": question}))
    for _ in range(MOST_PAGES):
        if not page:
            return
        answer = (await client.get(page)).raise_for_status().json()
        for item in answer["Items"]:
            windows = "Windows" in item.get("productName", "")
            if not windows and item.get("unitOfMeasure") == "1 Hour" and "Low Priority" not in item.get("skuName", ""):
                yield item
        page = answer.get("NextPageLink")


def _is_spot(item: Mapping[str, Any]) -> bool:
    return str(item.get("skuName", "")).endswith(" Spot")


def _trusted(settings: AzureSettings) -> Any:
    import ssl

    return True if settings.ca is None else ssl.create_default_context(cafile=settings.ca)
