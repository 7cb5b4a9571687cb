"""The subsystem on a live control plane: agents that report over the API, and what the engine hears."""

from pathlib import Path

import pytest
from tests.patience import wait_for
from tests.servers.measured_nodes import FAR_US, join_measured, report_pairs, reported, two_leaves
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client, DovetailError

pytestmark = pytest.mark.needs_server

NAMES = [f"n{number}" for number in range(1, 7)]
QUICK = {"network": {"publish_every": "100ms"}}


def test_distances_follow_what_is_measured_and_what_is_set_or_described_stays_above(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, subsystems=QUICK)
    with serving(settings) as url, Client(url) as client:
        join_measured(client, NAMES)
        assert wait_for(lambda: client.distance("n1", "n4")["source"] == "measured")
        assert client.distance("n1", "n2")["distance"] < 20 < client.distance("n1", "n4")["distance"]
        client.set_distances([("n1", "n2", 77.0)])
        assert (client.distance("n1", "n2")["source"], client.distance("n1", "n2")["distance"]) == ("by_hand", 77)
        links = [{"from": name, "to": "leaf", "bandwidth": "10Gbps", "latency": "1us"} for name in ("n1", "n4")]
        client.set_topology({"switches": ["leaf"], "links": links})
        described = client.distance("n1", "n4")
        assert described["source"] == "described"
        assert described["measured"] is not None
        client.forget_topology()
        nearer = {pair: 200.0 if "n4" in pair else us for pair, us in two_leaves(NAMES).items()}
        for _ in range(2):
            report_pairs(client, nearer)
            wait_for(lambda: client.report_probes("n1", reported([], [])))
        wait_for(lambda: client.distance("n1", "n4")["distance"] < 50, "a lasting change counts")
        client.remove_node("n4")
        wait_for(lambda: client.measured_distances()["total"] == 10, "its pairs are gone")


def test_what_was_measured_is_kept_over_time_for_pairs_and_for_domains(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, subsystems=QUICK)
    domains = {"leaf": {"east": NAMES[:3], "west": NAMES[3:]}}

    def values(client: Client, name: str, *ends: str, level: str | None = None) -> list[float | None]:
        found = client.distance_trends(*ends, level=level, since_s=3600, points=1)
        return found["series"][name]["values"]

    with serving(settings) as url, Client(url) as client:
        join_measured(client, NAMES)
        client.set_topology({"levels": [{"name": "leaf"}], "domains": domains})
        assert values(client, "rtt", "n1", "n4") == [1.0], "1000 to 1003 microseconds, three digits"
        assert values(client, "rtt", "n4", "n1") == values(client, "rtt", "n1", "n4")
        assert values(client, "loss", "n1", "n4") == [0.0]
        assert values(client, "rtt", "east", "west", level="leaf") == [1.0]
        near = values(client, "rtt", "east", "east", level="leaf")[0]
        assert near is not None
        assert 0.1 <= near < 0.11
        client.report_probes("n1", reported([{"node": "n2", "sent": 4, "rtts_us": []}], []))
        wait_for(lambda: values(client, "loss", "n1", "n2") == [0.5], "one round of two had no answer")
        assert values(client, "rtt", "n1", "n2")[0] == near, "a lost packet has no round-trip time"
        assert values(client, "rtt", "n1", "node-1") == [None], "nobody measured"
        assert 0.1 < (values(client, "rtt")[0] or 0.0) < 1.0, "all pairs together"
        with pytest.raises(DovetailError, match="is missing"):
            values(client, "rtt", "n1")
        with pytest.raises(DovetailError, match="there is no leaf 'north'"):
            values(client, "rtt", "east", "north", level="leaf")
        with pytest.raises(DovetailError, match="no node 'n9'"):
            values(client, "rtt", "n1", "n9")
    with serving(settings) as url, Client(url) as client:
        assert values(client, "rtt", "n1", "n4") == [1.0], "it is kept over a restart"


def test_orders_of_other_nodes_are_not_for_everybody_and_nonsense_is_refused(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        token = client.register_node({"name": "n1", "capacity": {"cpu": 1}})["token"]
        client.register_node({"name": "n2", "capacity": {"cpu": 1}})
        with Client(url, token=token) as own:
            own.report_probes("n1", reported([], []))
            with pytest.raises(DovetailError, match="speaks for node n1 alone"):
                own.report_probes("n2", reported([], []))
        with pytest.raises(DovetailError, match="no node 'n3'"):
            client.report_probes("n3", reported([], []))
        for wrong in (
            {**reported([], []), "address": "not an address"},
            reported([{"node": "n2", "sent": 4, "rtts_us": [-1.0]}], []),
            reported([], [{"node": "n2", "mbps": float("1e300"), "at_least": False}]),
        ):
            with pytest.raises(DovetailError) as raised:
                client.report_probes("n1", wrong)  # type: ignore[arg-type]
            assert raised.value.status == 422


def test_a_server_that_does_not_measure_gives_no_keys(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path, subsystems={"network": {"enabled": False}})) as url, Client(url) as client:
        client.register_node({"name": "n1", "capacity": {"cpu": 1}})
        orders = client.report_probes("n1", reported([{"node": "n1", "sent": 1, "rtts_us": [FAR_US]}], []))
        assert (orders["keys"], orders["peers"]) == ([], [])
        assert client.measured_distances() == {"items": [], "total": 0}
        assert client.discovered_topology()["levels"] == []
