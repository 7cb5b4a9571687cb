"""Prices that AWS says now: on demand from the price list, spot from the history of the last moments.

Reading them is a convenience: what is not allowed or fails is logged, and the shipped table counts.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

PRODUCT = "Linux/UNIX"
AT_ONCE = 100
_FILTERS = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}


def on_demand_prices(pricing: Any, region: str) -> dict[str, float]:
    """USD an hour by instance type. About ten requests."""
    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in {**_FILTERS, "regionCode": region}.items()
    ]
    found: dict[str, float] = {}
    for page in pricing.get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=filters):
        found.update(read_products(page["PriceList"]))
    return found


def read_products(products: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Each is a JSON text: a product, with the terms at which it is sold."""
    for text in products:
        product = json.loads(text)
        name = product.get("product", {}).get("attributes", {}).get("instanceType")
        prices = [
            float(dimension["pricePerUnit"]["USD"])
            for term in product.get("terms", {}).get("OnDemand", {}).values()
            for dimension in term.get("priceDimensions", {}).values()
            if "USD" in dimension.get("pricePerUnit", {})
        ]
        if name and prices and max(prices) > 0:
            yield name, max(prices)


def spot_prices(ec2: Any, types: Sequence[str]) -> dict[tuple[str, str], float]:
    """USD an hour by zone and instance type, as they are now."""
    found: dict[tuple[str, str], float] = {}
    now = time.time()
    pages = ec2.get_paginator("describe_spot_price_history")
    for start in range(0, len(types), AT_ONCE):
        some = list(types[start : start + AT_ONCE])
        for page in pages.paginate(InstanceTypes=some, ProductDescriptions=[PRODUCT], StartTime=now):
            for row in page["SpotPriceHistory"]:
                found[row["AvailabilityZone"], row["InstanceType"]] = float(row["SpotPrice"])
    return found
