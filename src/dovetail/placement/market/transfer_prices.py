"""What moving a gigabyte between places costs and how long it takes: a static table.

List prices of June 2025 in USD for the first tiers of data leaving a provider's regions; data coming in is free.
A place is written `PROVIDER/REGION`; the empty place is here. Places of unknown providers are priced like here.
"""

#: From a provider to the internet, for a gigabyte.
TO_INTERNET: dict[str, float] = {"aws": 0.09, "azure": 0.087, "gcp": 0.12}
#: Between two regions of a provider.
BETWEEN_REGIONS: dict[str, float] = {"aws": 0.02, "azure": 0.02, "gcp": 0.02}
SECONDS_PER_GB = 8.0
"""Between different places, at 1 Gbps."""


def transfer_price(source: str, target: str) -> float:
    """In USD for a gigabyte."""
    if source == target:
        return 0.0
    provider = source.partition("/")[0]
    if provider == target.partition("/")[0]:
        return BETWEEN_REGIONS.get(provider, 0.0)
    return TO_INTERNET.get(provider, 0.0)


def transfer_s(source: str, target: str) -> float:
    """For a gigabyte."""
    return 0.0 if source == target else SECONDS_PER_GB
