"""A server that is killed again and again counts every second of every attempt once, at the price of that second."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for

from dovetail.client import Client, DovetailError

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

PRICE = 7200.0  # two a second
GROUP = {"prefix": "n", "count": 3, "capacity": {"cpu": 8, "memory": "32GB"}, "offer": {"price_per_hour": PRICE}}
SETTINGS = {
    "backends": {"sim": {"kind": "simulated", "forever": True, "groups": [GROUP]}},
    "subsystems": {"cost": {"every": "100ms", "budgets": {"spent": {"amount": 0.01, "on_limit": "refuse"}}}},
}
QUARTER = {"cpu": 2, "memory": "1GB"}
ROUNDS = 4
#: Costs go by microseconds; each costs up to 1e-5 of a currency here.
EXACT = 1e-4


def held_s(client: Client, name: str) -> float:
    return sum((row["ended_at"] or 0.0) - (row["placed_at"] or 0.0) for row in client.attempts(name)["items"])


def newest_line(client: Client, node: str, words: str) -> float:
    return max(row["at"] for row in client.past_events(node=node) if words in row["message"])


def test_nothing_is_lost_or_counted_twice_by_kill_nine(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, SETTINGS)
    rented: list[tuple[float, float]] = []  # from when on which price, by the history
    names = ["lasting", "over", *(f"w-{number}" for number in range(ROUNDS))]
    cancelled: set[str] = set()
    with server, Client(server.url) as client:
        client.submit({"name": "lasting", "replicas": 2, "gang": {"min": 2}, "resources": QUARTER})
        client.submit({"name": "over", "namespace": "spent", "resources": QUARTER})
        for number, name in enumerate(names[2:]):
            client.submit({"name": name, "replicas": 2, "resources": QUARTER})
            wait_for(lambda name=name: client.workload(name)["state"] == "running")  # type: ignore[misc]
            offer: dict[str, Any] = {"price_per_hour": PRICE * (number + 1), "currency": "EUR"}
            client.register_node({"name": "rented", "capacity": {"cpu": 1}, "offer": offer})
            rented.append((newest_line(client, "rented", "online"), PRICE * (number + 1)))
            client.costs()
            if number % 2:
                client.cancel(name)
                cancelled.add(name)
            server.kill()
            server.start()
            with pytest.raises(DovetailError, match="the budget of namespace spent is spent"):
                client.submit({"name": "more", "namespace": "spent"})
        for name in names:
            if name not in cancelled:
                client.cancel(name)
        wait_for(lambda: all(client.workload(name)["finished_at"] for name in names))
        client.remove_node("rented")
        rented.append((newest_line(client, "rented", "left"), 0.0))

        page = client.costs("workload")
        found = {row["name"]: row["cost"] for row in page["items"]}
        assert found == {name: pytest.approx(held_s(client, name) * PRICE / 3600 / 4, abs=EXACT) for name in names}
        nodes = client.costs("node")
        [euros, dollars] = nodes["totals"]
        joined = [min(row["at"] for row in client.past_events(node=f"n-{number}")) for number in (1, 2, 3)]
        assert dollars["total"] == pytest.approx(sum(nodes["at"] - at for at in joined) * PRICE / 3600, abs=EXACT)
        assert dollars["work"] == pytest.approx(sum(found.values()))
        expected = sum((end - begin) * price / 3600 for (begin, price), (end, _) in pairwise(rented))
        assert euros["total"] == pytest.approx(expected, abs=EXACT)
        spent = "namespace spent has spent its budget for "  # a line about 80 % of it may come before
        lines = [row["message"] for row in client.event_page(kinds=["budget"])["items"] if spent in row["message"]]
        assert 1 <= len(lines) <= 2, "once; twice if the kill came just after it was told"
