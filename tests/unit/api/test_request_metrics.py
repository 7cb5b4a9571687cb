"""Requests are counted by the template of their route, whatever somebody writes into an address."""

from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import serving, settings_in


def test_a_route_is_its_template_and_a_strange_address_makes_no_series(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, httpx.Client(base_url=url, auth=OWN_TOKEN, trust_env=False) as http:
        for number in range(50):
            for address in (f"/api/v1/workloads/w{number}", f"/api/v1/workloads/a%2Fw{number}", f"/no/{number}"):
                assert http.get(address).status_code == 404
        http.post("/api/v1/nodes", json={"name": "agent", "capacity": {"cpu": 1}}).raise_for_status()
        http.post("/api/v1/nodes/agent/heartbeat", json={"tasks": []}).raise_for_status()
        text = http.get("/metrics").text
        counts = {
            (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "dovetail_http_requests_total"
        }
    assert counts == {
        ("GET", "/api/v1/workloads/{ref}", "404"): 100,
        ("GET", "", "404"): 50,
        ("POST", "/api/v1/nodes", "201"): 1,
        ("POST", "/api/v1/nodes/{name}/heartbeat", "200"): 1,
    } | {key: value for key, value in counts.items() if key[1] in ("/ready", "/health")}
