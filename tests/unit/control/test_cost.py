"""Costs on a live server: what is told agrees with what attempts and nodes say, and budgets warn and refuse."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import until, wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.accounting.days import day_of, month_of, next_month
from dovetail.client import Client, DovetailError
from dovetail.control.plane import ControlPlane
from dovetail.model.batch import Batch
from dovetail.responses.cost import CostPage

PRICE = 3600.0  # one a second
EXACT = 2e-5  # costs go by microseconds, of which each costs up to 1e-5 here
HALF_A_NODE = {"cpu": 4}


def priced(name: str = "n", currency: str = "USD", price: float = PRICE) -> dict[str, Any]:
    group = {"prefix": name, "count": 2, "capacity": {"cpu": 8, "memory": "32GB", "gpu": 2}}
    offer = {"price_per_hour": price, "currency": currency}
    return {"kind": "simulated", "forever": True, "groups": [{**group, "offer": offer}]}


def settings(folder: Path, **cost: Any) -> Any:
    backends = {"cloud": priced(), "euros": priced("e", "EUR"), "own": priced("own", price=0.0)}
    return settings_in(folder, backends=backends, subsystems={"cost": {"every": "100ms", **cost}})


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with serving(settings(tmp_path)) as url, Client(url) as found:
        yield found


def run(client: Client, name: str, backend: str = "cloud", **fields: Any) -> None:
    work = {"name": name, "resources": HALF_A_NODE, "backends": {"allow": [backend]}, **fields}
    client.submit(work)
    wait_for(lambda: client.workload(name, fields.get("namespace"))["state"] == "running")


def end(client: Client, name: str, namespace: str | None = None) -> None:
    client.cancel(name, namespace=namespace)
    wait_for(lambda: client.workload(name, namespace)["finished_at"])


def held_s(client: Client, name: str, namespace: str | None = None) -> float:
    """How long its tasks held nodes, as its attempts say."""
    rows = client.attempts(name, namespace=namespace)["items"]
    return sum((row["ended_at"] or time.time()) - (row["placed_at"] or 0.0) for row in rows)


def cost_of(page: CostPage, name: str, currency: str = "USD") -> float:
    return sum(row["cost"] for row in page["items"] if row["name"] == name and row["currency"] == currency)


def test_a_workload_costs_its_share_of_its_nodes_for_its_time(client: Client) -> None:
    run(client, "train", replicas=2, user="ada", namespace="team")
    run(client, "abroad", "euros")
    run(client, "at-home", "own")
    for name, space in (("train", "team"), ("abroad", None), ("at-home", None)):
        end(client, name, space)
    page = client.costs("workload")
    expected = held_s(client, "train", "team") / 2  # half a node at one a second
    assert cost_of(page, "train") == pytest.approx(expected, abs=EXACT)
    assert cost_of(page, "abroad", "EUR") == pytest.approx(held_s(client, "abroad") / 2, abs=EXACT)
    assert cost_of(page, "at-home") == 0.0
    assert cost_of(client.costs("user"), "ada") == cost_of(client.costs("namespace"), "team") == cost_of(page, "train")
    assert cost_of(client.costs("queue"), "default") == cost_of(page, "train")
    assert [row["name"] for row in client.costs("workload", namespace="team")["items"]] == ["train"]


def test_work_and_idle_time_are_what_the_nodes_cost(client: Client) -> None:
    run(client, "train", replicas=2)
    page = client.costs("node")
    joined = [min(row["at"] for row in client.past_events(node=name)) for name in ("n-1", "n-2")]
    [euros, dollars] = page["totals"]
    assert (dollars["currency"], euros["currency"]) == ("USD", "EUR")
    assert dollars["work"] > 0 == euros["work"]
    assert dollars["total"] == pytest.approx(sum(page["at"] - at for at in joined), abs=EXACT)
    assert dollars["work"] + (dollars["idle"] or 0) == pytest.approx(dollars["total"], abs=1e-9)
    assert sum(row["cost"] for row in page["items"] if row["currency"] == "USD") == pytest.approx(dollars["work"])
    assert {row["name"] for row in page["items"]} == {"n-1", "n-2", "e-1", "e-2"}
    assert {row["name"] for row in client.costs("backend")["items"]} == {"cloud", "euros"}
    few = client.costs("node", limit=1)
    assert ([row["currency"] for row in few["items"]], few["left_off"]) == (["EUR", "USD"], 2)


def test_a_price_counts_from_the_moment_it_is_set(client: Client) -> None:
    node = {"name": "rented", "capacity": {"cpu": 4}}
    expected, began = 0.0, None
    for price in (PRICE, 10 * PRICE, None):
        offer = {"price_per_hour": price, "currency": "CHF"}
        client.register_node(node if price is None else {**node, "offer": offer})
        at = max(row["at"] for row in client.past_events(node="rented"))
        if began is not None:
            expected += (at - began[0]) * began[1] / 3600
        began = at, price or 0.0
        client.costs("node")  # in between, or not, makes no difference
    client.remove_node("rented")
    [row] = [row for row in client.costs("node")["items"] if row["name"] == "rented"]
    assert (row["cost"], row["currency"]) == (0.0, "CHF")
    assert row["idle"] == pytest.approx(expected, abs=EXACT)


def test_a_budget_that_is_spent_refuses_new_work_and_says_what_to_do(client: Client) -> None:
    run(client, "first", namespace="team")
    client.set_budget("team", 0.01, on_limit="refuse", by="ada")
    wait_for(lambda: client.budgets()[0]["state"] == "spent")
    with pytest.raises(DovetailError) as refused:
        client.submit({"name": "second", "namespace": "team"})
    month = month_of(time.time())
    assert refused.value.slug == "conflict"
    assert "the budget of namespace team is spent: " in str(refused.value)
    assert f"of 0.01 USD in {month}; wait until the month ends on {next_month(month)}-01 00:00 UTC" in str(
        refused.value
    )
    assert "dovetail budget set team" in str(refused.value)
    with pytest.raises(DovetailError, match="is spent"):
        client.dry_run({"name": "second", "namespace": "team"})
    with pytest.raises(DovetailError, match="is spent"):
        client.apply({"name": "web", "namespace": "team", "run": {"command": ["x"]}})
    assert client.workload("first", "team")["state"] == "running", "what runs goes on"
    client.submit({"name": "elsewhere"})
    client.set_budget("team", 1e6, on_limit="refuse")
    client.submit({"name": "second", "namespace": "team"})


def warnings(client: Client, namespace: str) -> list[str]:
    rows = client.event_page(kinds=["budget"])["items"]
    return [row["message"] for row in rows if row["message"].startswith(f"namespace {namespace} has spent ")]


def warned_twice(client: Client, namespace: str) -> bool:
    """False if the machine stood still from before 80 % until all was spent, a second and a half later: then one
    warning is enough."""
    run(client, "first", namespace=namespace)
    client.set_budget(namespace, sum(row["work"] for row in client.costs("namespace")["totals"]) + 4, on_limit="warn")
    [first, *_] = wait_for(lambda: warnings(client, namespace), "a warning")
    if "has spent 80 % of its budget for " not in first:
        return False
    wait_for(lambda: len(warnings(client, namespace)) == 2, "the second warning")
    return True


def test_warnings_come_at_80_and_at_100_percent_once(client: Client) -> None:
    team = next(name for name in ("team", "crew", "staff") if warned_twice(client, name))
    assert warnings(client, team)[1].startswith(f"namespace {team} has spent its budget for ")
    client.submit({"name": "second", "namespace": team})  # `warn` refuses nothing
    metrics = client.metrics()
    assert f'dovetail_budget_left{{currency="USD",namespace="{team}"}} -' in metrics
    assert f'dovetail_cost_month{{currency="USD",namespace="{team}"}}' in metrics
    assert f'dovetail_cost_per_hour{{currency="USD",namespace="{team}"}} 1800.0' in metrics
    assert 'dovetail_cost_idle_month{backend="euros",currency="EUR"}' in metrics
    assert len(warnings(client, team)) == 2


def test_budgets_of_the_settings_hold_and_cannot_be_changed_by_requests(tmp_path: Path) -> None:
    budgets = {"team": {"amount": 0.01, "on_limit": "refuse"}}
    with serving(settings(tmp_path, budgets=budgets)) as url, Client(url) as client:
        run(client, "first", namespace="team")
        wait_for(lambda: client.budgets()[0]["state"] == "spent")
        with pytest.raises(DovetailError, match="the settings of the server"):
            client.submit({"name": "second", "namespace": "team"})
        for change in (lambda: client.set_budget("team", 1e6), lambda: client.remove_budget("team")):
            with pytest.raises(DovetailError, match="stands in the settings of the server; change"):
                change()
        assert client.budgets()[0]["in_settings"]


def test_the_forecast_of_the_month_goes_on_as_what_runs(client: Client) -> None:
    run(client, "first", namespace="team")
    found = client.cost_forecast()
    [euros, dollars] = found["items"]
    assert (dollars["currency"], dollars["per_hour"], dollars["mean_day"]) == ("USD", 2 * PRICE, None)
    left_s = found["ends_at"] - found["at"]
    assert dollars["expected"] == pytest.approx(dollars["spent"] + 2 * left_s)
    assert (dollars["low"], dollars["high"]) == (dollars["spent"], dollars["expected"])
    [team] = client.cost_forecast("team")["items"]
    assert team["per_hour"] == PRICE / 2
    assert client.cost_forecast("nobody")["items"] == []
    assert euros["per_hour"] == 2 * PRICE


def test_the_report_holds_the_month_by_everything(client: Client) -> None:
    run(client, "first", namespace="team", user="ada")
    report = client.cost_report()
    assert report["month"] == month_of(report["at"])
    assert [row["name"] for row in report["by"]["workload"]] == ["first"]
    assert [row["name"] for row in report["by"]["user"]] == ["ada"]
    assert {day["day"] for day in report["days"]} <= {day_of(report["at"]), day_of(report["at"] - 60)}
    assert client.cost_report("2020-01")["totals"] == []


def test_a_cluster_without_prices_has_no_tables_of_costs(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path, subsystems={"cost": {"every": "100ms"}})) as url, Client(url) as client:
        client.submit({"name": "first"})
        wait_for(lambda: client.workload("first")["state"] == "running")
        assert not (tmp_path / "subsystems" / "cost" / "tables.db").exists()
        assert client.costs()["totals"] == []


def test_costs_are_added_up_only_as_far_as_everything_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that was decided and is not written yet may still say when an attempt ended."""
    may_write = threading.Event()

    async def scene() -> None:
        plane = ControlPlane(settings(tmp_path, every="1h"))
        await plane.start()
        real = plane.store.write

        def slow(batch: Batch, *committing: Any) -> None:
            may_write.wait(60)
            real(batch, *committing)

        monkeypatch.setattr(plane.store, "write", slow)
        try:
            before = plane.cost.book.settled_at()
            cordoned = asyncio.ensure_future(plane.nodes.cordon("n-1", ""))
            await until(lambda: plane.cost.book.settled_at() == plane.cost.book.settled_at(), "a step is decided")
            decided = plane.cost.book.settled_at()
            assert before <= decided < time.time()
            may_write.set()
            await cordoned
            assert plane.cost.book.settled_at() > decided
        finally:
            may_write.set()
            await plane.stop()

    asyncio.run(scene())
