"""Grams of CO2 equivalent for a kWh where machines stand: a static table of yearly means by place.

From the figures that Google Cloud publishes for its regions (2023) and, for regions of AWS and Azure, the yearly mean
of the country or grid that they stand in (Ember, 2023). Rounded; a backend that knows better says so in its offers
(`Offer.carbon_g_per_kwh`). `WORLD_MEAN` stands for places that the table does not have.
"""

WORLD_MEAN = 480.0
GRAMS_PER_KWH: dict[str, float] = {
    "aws/us-east-1": 340.0,
    "aws/us-east-2": 420.0,
    "aws/us-west-1": 220.0,
    "aws/us-west-2": 150.0,
    "aws/ca-central-1": 30.0,
    "aws/eu-west-1": 290.0,
    "aws/eu-west-2": 230.0,
    "aws/eu-west-3": 55.0,
    "aws/eu-central-1": 370.0,
    "aws/eu-north-1": 25.0,
    "aws/ap-northeast-1": 480.0,
    "aws/ap-southeast-1": 470.0,
    "aws/ap-southeast-2": 560.0,
    "aws/ap-south-1": 710.0,
    "aws/sa-east-1": 95.0,
    "azure/eastus": 340.0,
    "azure/eastus2": 340.0,
    "azure/westus2": 150.0,
    "azure/westus3": 350.0,
    "azure/southcentralus": 370.0,
    "azure/northeurope": 290.0,
    "azure/westeurope": 270.0,
    "azure/swedencentral": 25.0,
    "azure/francecentral": 55.0,
    "azure/uksouth": 230.0,
    "azure/japaneast": 480.0,
    "azure/southeastasia": 470.0,
    "gcp/us-central1": 430.0,
    "gcp/us-east1": 580.0,
    "gcp/us-east4": 320.0,
    "gcp/us-west1": 80.0,
    "gcp/us-west4": 360.0,
    "gcp/europe-west1": 110.0,
    "gcp/europe-west4": 280.0,
    "gcp/europe-west3": 350.0,
    "gcp/europe-north1": 40.0,
    "gcp/asia-northeast1": 460.0,
    "gcp/asia-southeast1": 370.0,
}

WATTS_PER_CORE, WATTS_PER_GPU = 6.0, 400.0
"""At full load, with memory, fans and power supplies, where a backend does not say."""


def grams_per_hour(place: str, carbon_g_per_kwh: float | None, watts: float | None, cores: float, gpus: float) -> float:
    """What the whole node emits at full load, estimated from its size where its backend does not say."""
    drawn = cores * WATTS_PER_CORE + gpus * WATTS_PER_GPU if watts is None else watts
    each = GRAMS_PER_KWH.get(place, WORLD_MEAN) if carbon_g_per_kwh is None else carbon_g_per_kwh
    return drawn * each / 1000.0
