"""The catalogue of clouds: tables that can be read, and nodes that are what the machines would be."""

from datetime import date

import pytest

from dovetail.backends.cloud_catalogue.offered_types import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    REGION,
    ZONE,
    CatalogueView,
    offered_types,
)
from dovetail.backends.cloud_catalogue.price_table import PricedType, carbon_table, price_table, with_live_prices
from dovetail.backends.cloud_catalogue.selection import CloudSelection, SpotUse
from dovetail.backends.machines.provider import MachineType

ROW = PricedType("aws", "eu-north-1", "g9.big", 8, 100, 2, "T4", 16, 4.0, 1.5, "2026-08-22")
ZONES = {("eu-north-1", "g9.big"): ("eu-north-1a", "eu-north-1b")}


def offered(view: CatalogueView, **settings: object) -> list[MachineType]:
    wanted = CloudSelection.model_validate({"regions": ["eu-north-1"], **settings})
    return offered_types("cloud", view, wanted)


@pytest.mark.parametrize("provider", ["aws", "azure", "gcp"])
def test_every_row_of_a_shipped_table_has_a_shape_prices_and_a_date_that_make_sense(provider: str) -> None:
    rows = price_table(provider)
    assert len(rows) > 60
    assert len({(row.region, row.type) for row in rows}) == len(rows)
    for row in rows:
        assert row.provider == provider
        assert row.vcpu > 0
        assert row.memory_gib > 0
        assert bool(row.gpu) == bool(row.gpu_model) == bool(row.gpu_memory_gib)
        assert row.on_demand_usd_h is not None
        assert 0 < row.on_demand_usd_h < 1000
        assert row.spot_usd_h is None or 0 < row.spot_usd_h <= row.on_demand_usd_h * 1.01
        assert date.fromisoformat(row.date).year >= 2024


def test_prices_that_everybody_knows_stand_in_the_table() -> None:
    prices = {(row.region, row.type): row.on_demand_usd_h for row in price_table("aws")}
    assert prices["us-east-1", "m5.xlarge"] == 0.192
    assert prices["us-east-1", "c5.large"] == 0.085
    assert prices["us-east-1", "g4dn.xlarge"] == 0.526
    assert prices["us-east-1", "p5.48xlarge"] == 55.04
    prices = {(row.region, row.type): row.on_demand_usd_h for row in price_table("azure")}
    assert prices["eastus", "Standard_D4s_v5"] == 0.192
    assert prices["eastus", "Standard_NC24ads_A100_v4"] == 3.673
    prices = {(row.region, row.type): row.on_demand_usd_h for row in price_table("gcp")}
    assert prices["us-central1", "e2-standard-4"] == pytest.approx(0.134012, rel=1e-3)
    assert prices["us-central1", "a2-highgpu-1g"] == pytest.approx(3.673385, rel=1e-3)


@pytest.mark.parametrize("provider", ["aws", "azure", "gcp"])
def test_every_region_of_the_table_has_a_carbon_figure(provider: str) -> None:
    assert {row.region for row in price_table(provider)} <= set(carbon_table(provider))


def test_a_provider_without_a_table_has_no_rows() -> None:
    assert price_table("nobody") == ()


def test_a_type_is_offered_in_each_zone_as_the_node_that_it_would_be() -> None:
    first, second = offered(CatalogueView([ROW], ZONES))
    assert (first.name, second.name) == ("cloud-g9.big-eu-north-1a", "cloud-g9.big-eu-north-1b")
    node = first.node
    assert node.labels[REGION] == "eu-north-1"
    assert node.labels[ZONE] == "eu-north-1a"
    assert node.labels[INSTANCE_TYPE] == "g9.big"
    assert node.labels[CAPACITY_TYPE] == "on-demand"
    assert (node.capacity.cpu, node.capacity.gpu, node.gpus[0].model) == (8, 2, "T4")
    assert 90 * 2**30 < node.capacity.memory < 100 * 2**30
    assert node.offer is not None
    assert (node.offer.price_per_hour, node.offer.running, node.offer.spot) == (4.0, False, False)
    assert node.offer.place == "aws/eu-north-1"
    assert node.offer.carbon_g_per_kwh == 9


def test_spot_is_offered_as_the_settings_say_at_the_price_of_its_zone() -> None:
    view = CatalogueView([ROW], ZONES, {("eu-north-1b", "g9.big"): 0.5})
    assert [one.node.offer.spot for one in offered(view, spot="never") if one.node.offer] == [False, False]
    prices = {one.name: one.node.offer for one in offered(view, spot=SpotUse.ALLOWED)}
    assert len(prices) == 4
    cheapest = prices["cloud-g9.big-eu-north-1b-spot"]
    assert next(iter(prices)) == "cloud-g9.big-eu-north-1b-spot"
    assert cheapest is not None
    assert (cheapest.price_per_hour, cheapest.spot, cheapest.interruption) == (0.5, True, 0.03)
    assert [one.name[-4:] for one in offered(view, spot="only")] == ["spot", "spot"]


def test_zones_types_and_prices_that_are_not_wanted_are_not_offered() -> None:
    view = CatalogueView([ROW], ZONES)
    assert [one.name for one in offered(view, zones=["eu-north-1b"])] == ["cloud-g9.big-eu-north-1b"]
    assert offered(view, types=["m5.*"]) == []
    assert len(offered(view, types=["g?.*"])) == 2
    assert offered(view, max_price=3.99) == []
    assert offered(view, regions=["eu-west-1"]) == []


def test_a_live_price_replaces_the_one_of_the_table_and_its_date() -> None:
    other = PricedType("aws", "eu-north-1", "g9.small", 4, 50, 0, "", 0, 2.0, None, "2026-08-22")
    key = ("eu-north-1", "g9.big")
    live, old = with_live_prices([ROW, other], {key: 3.0}, {}, "2026-11-17")
    assert (live.on_demand_usd_h, live.spot_usd_h, live.date) == (3.0, 1.5, "2026-11-17")
    assert old == other
