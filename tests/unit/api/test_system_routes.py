"""The server about itself: summary, health, metrics, pages, description, ids, origins, events."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import in_state, problem_in, serving, settings_in, submitted


@pytest.fixture
def root(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(auth=OWN_TOKEN, base_url=url, timeout=60, trust_env=False, verify=False) as client:
        yield client


def test_the_summary_adds_everything_up(http: httpx.Client) -> None:
    submitted(http, {"name": "summed", "resources": {"cpu": 4}})
    in_state(http, "summed", "running")
    found = http.get("/summary").json()
    statuses = {"online": 4, "cordoned": 0, "quarantined": 0, "backend_down": 0, "offline": 0}
    assert found["nodes"] == {"total": 4} | statuses
    assert found["resources"]["cpu"] == {"unit": "cores", "capacity": 32, "allocated": 4, "share": 0.125}
    assert found["workloads"]["running"] == 1
    assert found["decisions_total"] == 1


def test_health_readiness_and_metrics_are_at_the_root(root: httpx.Client) -> None:
    assert root.get("/health").json()["status"] == "ok"
    assert root.get("/ready").json()["status"] == "ready"
    answer = root.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert "dovetail_nodes" in answer.text


def test_a_server_whose_own_machine_can_start_nothing_is_not_ready_until_it_can(tmp_path: Path) -> None:
    runs = tmp_path / "elsewhere" / "runs"
    settings = settings_in(tmp_path, backends={"here": {"kind": "local", "node": "here", "folder": str(runs)}})
    how: dict[str, Any] = {"auth": OWN_TOKEN, "timeout": 60, "trust_env": False, "verify": False}
    with serving(settings) as url, httpx.Client(base_url=url, **how) as client:
        away = runs.with_name("away")
        runs.rename(away)
        runs.touch()  # whatever is looked for there is an error
        work = {"name": "stuck", "resources": {"cpu": "10m"}, "run": {"command": ["true"]}}
        client.post("/api/v1/workloads", json=[work])
        wait_for(lambda: client.get("/ready").status_code == 503, "the server says that it is not ready")
        assert "backend here cannot start tasks" in client.get("/ready").json()["detail"]
        assert client.get("/ready", auth=None).json()["detail"] == "not ready"
        runs.unlink()
        away.rename(runs)
        wait_for(lambda: client.get("/ready").status_code == 200, "the server is ready again")


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_load_nothing_from_elsewhere(root: httpx.Client, path: str) -> None:
    answer = root.get(path)
    assert answer.status_code == 200
    assert not re.search(r"(src|href)=[\"'](https?:)?//", answer.text)
    assert not re.search(r"<script(?! type=\"module\" src=)", answer.text), "no script inside of the page"
    assert "unsafe-eval" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_description_is_complete_and_refers_only_to_what_it_holds(root: httpx.Client) -> None:
    described = root.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    used = set(re.findall(r"#/components/schemas/([A-Za-z0-9_]+)", json.dumps(described)))
    assert used <= set(schemas)
    body = described["paths"]["/api/v1/workloads"]["post"]["requestBody"]["content"]
    assert set(body) == {"application/json", "application/yaml"}
    assert "replicas" in schemas["Workload"]["properties"]
    assert not any(
        "422" in operation["responses"] for path in described["paths"].values() for operation in path.values()
    )


def test_short_forms_of_fields_are_described_beside_the_long_ones(root: httpx.Client) -> None:
    schemas = root.get("/openapi.json").json()["components"]["schemas"]
    conflict = schemas["Workload"]["properties"]["conflicts"]["items"]["anyOf"]
    name = {"type": "string", "format": "name", "minLength": 1, "maxLength": 100}
    assert conflict == [{"$ref": "#/components/schemas/ConflictSet"}, name]
    assert name | {"format": "gpu-model"} in schemas["ResourceRequest"]["properties"]["gpu_model"]["anyOf"]
    assert name in schemas["Spread"]["properties"]["of"]["anyOf"]
    kinds = [form["type"] for form in schemas["Topology"]["properties"]["switches"]["anyOf"]]
    assert kinds == ["object", "array"]


def test_every_route_can_be_called_by_what_the_description_says(root: httpx.Client) -> None:
    described = root.get("/openapi.json").json()
    for path, operations in described["paths"].items():
        if "{" in path or "get" not in operations:
            continue
        assert root.get(path).is_success, path


def test_a_wrong_method_is_told_the_right_ones(http: httpx.Client) -> None:
    answer = http.put("/workloads")
    assert answer.headers["allow"] == "GET, POST"
    assert "GET, POST" in problem_in(answer, 405)["detail"]


def test_every_answer_carries_the_callers_id_if_it_is_sensible(http: httpx.Client) -> None:
    assert http.get("/summary", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert http.get("/summary", headers={"X-Request-Id": "a b\tc"}).headers["x-request-id"] != "a b\tc"
    assert problem_in(http.get("/nope", headers={"X-Request-Id": "mine-2"}), 404)["request_id"] == "mine-2"


def test_a_page_of_another_site_cannot_change_anything(http: httpx.Client) -> None:
    problem_in(http.post("/workloads", json={"name": "x"}, headers={"Origin": "http://evil.example"}), 403)
    problem_in(http.post("/nodes/node-1/drain", headers={"Origin": "null"}), 403)
    own = str(http.base_url).removesuffix("/api/v1/").rstrip("/")
    assert http.post("/plan", json={"name": "x"}, headers={"Origin": own}).status_code == 200
    problem_in(http.post("/plan", json={"name": "x"}, headers={"Origin": "http://[bad"}), 403)
    both = [("Origin", own), ("Origin", "http://evil.example")]
    problem_in(http.post("/plan", json={"name": "x"}, headers=both), 403)


def test_a_name_that_somebody_made_point_here_is_refused(http: httpx.Client) -> None:
    rebound = {"Host": "evil.example:8080", "Origin": "http://evil.example:8080"}
    problem = problem_in(http.post("/plan", json={"name": "x"}, headers=rebound), 421)
    assert "listen.names" in problem["detail"]
    problem_in(http.get("/summary", headers={"Host": "evil.example"}), 421)
    port = http.base_url.port
    for own in (f"localhost:{port}", f"LOCALHOST.:{port}", f"[::1]:{port}", "10.1.2.3"):
        assert http.get("/summary", headers={"Host": own}).status_code == 200
    probe = str(http.base_url.copy_with(path="/health"))
    assert (
        httpx.get(probe, auth=OWN_TOKEN, headers={"Host": "whatever"}, trust_env=False, timeout=60).status_code == 200
    )


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["local host"], ["a:b:c"], ["user@localhost"]])
def test_a_request_names_one_host(http: httpx.Client, hosts: list[str]) -> None:
    lines = ["GET /api/v1/summary HTTP/1.1", *(f"Host: {host}" for host in hosts), "Connection: close", "", ""]
    with socket.create_connection((http.base_url.host, http.base_url.port or 80), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode())
        status = connection.makefile("rb").readline().split()[1]
    assert status in (b"400", b"421")


def read_events(answer: httpx.Response, number: int) -> list[dict[str, Any]]:
    return list(islice(events_of(answer), number))


def events_of(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    for line in answer.iter_lines():
        if line.startswith(("id:", "event:", "data:")):
            name, _, value = line.partition(": ")
            event[name] = value
        elif not line and event:
            yield event | {"data": json.loads(event["data"])}
            event = {}


def test_events_are_streamed_from_where_the_listener_was(http: httpx.Client) -> None:
    [accepted] = submitted(http, {"name": "streamed"})
    in_state(http, "streamed", "running")
    past = http.get("/events", params={"workload": "streamed"}).json()["items"]
    assert past[0]["kind"] == "submitted"
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(past[0]["seq"])}
    with http.stream("GET", "/events", params={"workload": accepted["id"]}, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        found = read_events(answer, len(past) - 1)
    assert [event["data"] for event in found] == past[1:]
    assert [event["id"] for event in found] == [str(line["seq"]) for line in past[1:]]
    assert [event["event"] for event in found] == [line["kind"] for line in past[1:]]


def test_a_stream_may_leave_out_what_nobody_can_follow_and_says_so(http: httpx.Client) -> None:
    [accepted] = submitted(http, {"name": "storm", "replicas": 30})

    def told() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = http.get("/events", params={"workload": "storm", "limit": 1000}).json()["items"]
        return items if sum(line["kind"] == "running" for line in items) == 30 else []

    past = wait_for(told, "all replicas run")
    wanted = {"workload": accepted["id"], "after": past[0]["seq"], "most": 5}
    with http.stream("GET", "/events", params=wanted, headers={"Accept": "text/event-stream"}) as answer:
        events = []
        for event in events_of(answer):  # in several parts, if the stream begins before the last line has come to it
            events.append(event)
            if event.get("id") == str(past[-1]["seq"]):
                break
    left_out = sum(event["data"] for event in events if event.get("event") == "skipped")
    lines = [event["data"] for event in events if event.get("event") != "skipped"]
    assert left_out > 0
    assert lines[-5:] == past[-5:]
    assert left_out + len(lines) == len(past) - 1, "each line is told or counted"


def test_without_a_place_a_stream_begins_now(http: httpx.Client) -> None:
    newest = http.get("/events", params={"limit": 1000}).json()["items"][-1]["seq"]
    with http.stream("GET", "/events", headers={"Accept": "text/event-stream"}) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith(":")
        http.post("/workloads", json={"name": "live"})
        first = next(json.loads(line[6:]) for line in lines if line.startswith("data: "))
    assert first["seq"] > newest


def test_each_address_may_have_a_bounded_number_of_streams_open(http: httpx.Client) -> None:
    headers = {"Accept": "text/event-stream"}
    with ExitStack() as streams:
        answers = [streams.enter_context(http.stream("GET", "/events", headers=headers)) for _ in range(8)]
        pieces = [answer.iter_bytes() for answer in answers]  # one that is dropped would close its stream
        assert all(map(next, pieces)), "they have begun"
        refused = http.get("/events", headers=headers, timeout=10)
        assert (refused.status_code, refused.headers["content-type"]) == (429, "application/problem+json")
        assert "127.0.0.1 has 8 streams open, and may not have more (limits.max_streams)" in refused.json()["detail"]
    wait_for(lambda: _can_stream(http), "those that were closed do not count")


def _can_stream(http: httpx.Client) -> bool:
    with http.stream("GET", "/events", headers={"Accept": "text/event-stream"}) as answer:
        return answer.status_code == 200


def test_an_open_stream_ends_when_the_server_stops(tmp_path: Path) -> None:
    with ExitStack() as open_ones:
        with serving(settings_in(tmp_path)) as url:
            client = open_ones.enter_context(
                httpx.Client(auth=OWN_TOKEN, base_url=url, timeout=60, trust_env=False, verify=False)
            )
            headers = {"Accept": "text/event-stream"}
            answer = open_ones.enter_context(client.stream("GET", "/api/v1/events", headers=headers))
            lines = answer.iter_lines()
            assert next(lines).startswith(":")
        assert not [line for line in lines if line and not line.startswith(":")]
