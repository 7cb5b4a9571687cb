"""A real Prometheus scrapes a real server with the files of deploy/: what the dashboard and the alerts ask has answers,
and alerts fire when something is wrong."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.docker import docker_server
from tests.servers.prometheus import PrometheusServer, prometheus_server, skip_without_prometheus

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("prometheus")]

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dovetail.json").read_text())
#: Of which the scene below has nothing: agents that probe, tasks that lost their nodes, backends that fail.
WITHOUT_DATA = {
    "Round-trip times",
    "Recovery of gangs",
    "Recovery of tasks",
    "Calls that fail",
}

LEAVES = {
    "spines": 1,
    "leaves_per_spine": 2,
    "nodes_per_leaf": 2,
    "gpus": [{"count": 8, "model": "H200", "memory": "141GiB"}],
}
SETTINGS: dict[str, Any] = {
    "backends": {"sim": {"kind": "simulated", "forever": True, "leaf_spine": LEAVES, "prices": {"*": 3600.0}}},
    "loop": {"heartbeat_timeout": "2s"},
    "scheduling": {"queues": {"research": {"guaranteed": {"gpu": 8}}, "guest": {}}},
    "subsystems": {"cost": {"every": "1s", "budgets": {"default": {"amount": 0.001}}}},
}
BRIEF: dict[str, Any] = {"run": {"simulate": {"run_time": "100ms"}}, "resources": {"cpu": 1}}


@contextmanager
def scraping(server: ServerProcess, folder: Path) -> Iterator[PrometheusServer]:
    """Prometheus with the files of deploy/, as they are but for the address and the pace."""
    found = folder / "prometheus"
    found.mkdir()
    configuration = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (job,) = configuration["scrape_configs"]
    job["static_configs"] = [{"targets": [f"127.0.0.1:{server.port}"]}]
    alerts = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())
    for group in alerts["groups"]:
        for rule in group["rules"]:
            rule.pop("for", None)  # how long each has to hold, alerts_test.yaml tries
    (found / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
    (found / "alerts.yaml").write_text(yaml.safe_dump(alerts))
    (found / "recording.yaml").write_text((DEPLOY / "prometheus" / "recording.yaml").read_text())
    (found / "dovetail.token").write_text((server.data / "admin.token").read_text())
    with prometheus_server(found / "prometheus.yaml") as prometheus:
        wait_for(lambda: len(prometheus.query("count_over_time(up[1m]) >= 3")), "three scrapes")
        # A scrape may take longer than the interval; the next one is in time.
        wait_for(lambda: [one["health"] for one in prometheus.targets()] == ["up"], "the server is scraped")
        yield prometheus


def keep_busy(client: Client) -> None:
    """A little of everything that panels show."""
    client.register_node({"name": "silent", "capacity": {"cpu": 1}})
    client.heartbeat("silent")
    half = {"gpu": 4, "cpu": 4}
    client.submit({"name": "runs", "queue": "guest", "resources": half, "replicas": 4})
    client.submit({"name": "batch", "queue": "guest", "resources": {"gpu": 2}, "replicas": 8, "priority": "batch"})
    layout = {"resources": {"gpu": 1}, "replicas": 2, "gang": {"min": 2}, "topology": {"required": "leaf"}}
    client.submit({"name": "gang", "queue": "research", **layout})
    client.submit({"name": "too-big", "resources": {"gpu": 64}})
    for number in range(3):
        client.submit({"name": f"brief-{number}", **BRIEF})
    client.apply({"name": "web", "replicas": 2, "resources": {"cpu": 1}, "run": {"simulate": {}}})
    wait_for(lambda: client.workload("brief-2")["state"] == "succeeded", "short work has ended")
    wait_for(lambda: client.node("silent")["status"] == "offline", "a silent node is noticed")


def test_every_panel_and_every_rule_has_an_answer_and_a_silent_node_fires(tmp_path: Path) -> None:
    skip_without_prometheus()
    server = ServerProcess(tmp_path, SETTINGS)
    with server, Client(server.url) as client, scraping(server, tmp_path) as prometheus:
        assert "DovetailAgentsSilent" not in prometheus.firing()
        keep_busy(client)
        silent = wait_for(lambda: prometheus.firing().get("DovetailAgentsSilent"), "the alert about a silent node", 0.2)
        assert silent["annotations"]["summary"] == "Agents that send no heartbeats: 1"
        assert wait_for(lambda: prometheus.firing().get("DovetailBudgetSpent"), "the alert about a budget")
        client.heartbeat("silent")

        def is_quiet() -> bool:
            client.heartbeat("silent")
            return "DovetailAgentsSilent" not in prometheus.firing()

        wait_for(is_quiet, "the alert ends when the node is heard again", every_s=0.2)
        numbers = count()

        def panels_have_data() -> bool:
            client.submit({"name": f"more-{next(numbers)}", **BRIEF})
            return empty_panels(prometheus) == WITHOUT_DATA

        wait_for(panels_have_data, "data for every panel but those of which nothing happens here", every_s=0.5)
        submissions = 'dovetail_http_requests_total{route="/api/v1/workloads", status="201"}'
        accepted = wait_for(lambda: prometheus.query(submissions), "submissions are counted")
        assert [one["metric"]["method"] for one in accepted] == ["POST"]
        heartbeats = 'dovetail_http_requests_total{route="/api/v1/nodes/{name}/heartbeat"}'
        reported = wait_for(lambda: prometheus.query(heartbeats), "heartbeats are counted")
        assert [one["metric"]["status"] for one in reported] == ["200"], "a route is its template"
        wait_for(lambda: all(rule["health"] != "unknown" for rule in all_rules(prometheus)), "every rule was evaluated")
        rules = all_rules(prometheus)
        assert {rule["health"] for rule in rules} == {"ok"}, [rule for rule in rules if rule["health"] != "ok"]
        recorded = {rule["name"] for rule in rules if rule["type"] == "recording"}
        wait_for(lambda: all(prometheus.query(name) for name in recorded), "data for every recording rule", every_s=0.5)


def all_rules(prometheus: PrometheusServer) -> list[dict[str, Any]]:
    return [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]


def empty_panels(prometheus: PrometheusServer) -> set[str]:
    """Titles of panels of which no expression finds anything. An expression that is refused fails the test."""
    found = set()
    for panel in DASHBOARD["panels"]:
        answers = [prometheus.query(asked(target["expr"])) for target in panel.get("targets", ())]
        if answers and not any(sample["value"][1] != "NaN" for answer in answers for sample in answer):
            found.add(panel["title"])
    return found


def asked(expression: str) -> str:
    """As Grafana would ask it, for all servers."""
    filled = expression.replace("$__rate_interval", "1m").replace("$job", "dovetail").replace("$instance", ".*")
    assert "$" not in filled, filled
    return filled


@pytest.mark.xdist_group("docker")
def test_an_open_breaker_fires_and_a_closed_one_does_not(tmp_path: Path) -> None:
    skip_without_prometheus()
    with docker_server() as engine:
        hosts = [{"name": "one", "url": engine.url}]
        settings: dict[str, Any] = {
            "backends": {
                "docker": {"kind": "docker", "hosts": hosts, "cluster": "monitored", "network": "none"},
                "sim": {"kind": "simulated", "groups": [{"count": 1}]},
            },
            "subsystems": {"backend_health": {"probe_every": "1s"}},
        }
        server = ServerProcess(tmp_path, settings)
        with server, Client(server.url) as client, scraping(server, tmp_path) as prometheus:
            wait_for(lambda: client.backend("docker")["state"] == "closed", "the backend is used")
            wait_for(lambda: "DovetailBackendUnavailable" not in prometheus.firing(), "no alert about it")
            engine.daemon.kill()
            wait_for(lambda: client.backend("docker")["state"] == "open", "the breaker opens")
            alert = wait_for(lambda: prometheus.firing().get("DovetailBackendUnavailable"), "the alert")
            assert alert["labels"]["backend"] == "docker"
            assert alert["labels"]["severity"] == "critical"
            # Each query may fall between two scrapes of which one was late.
            (broken,) = wait_for(lambda: prometheus.query("dovetail_backend_available == 0"), "it is shown as away")
            assert broken["metric"]["backend"] == "docker", "and no other"
            failing = asked('sum by (backend) (rate(dovetail_backend_calls_total{outcome="failed"}[1m])) > 0')
            wait_for(lambda: prometheus.query(failing), "calls that fail are counted", every_s=0.2)
