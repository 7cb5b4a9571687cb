"""Routes of backends, asked through the client as everybody does, on a real server."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, problem_in, serving, settings_in
from tests.unit.control.secretive import ENTRY, PASSWORD, TOKEN, offer

from dovetail.client import Client, DovetailError

FAR = {name: value for name, value in ENTRY.items() if name != "kind"}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    offer(monkeypatch)
    monkeypatch.delenv("DOVETAIL_SECRET_KEY", raising=False)
    with serving(settings_in(tmp_path)) as address:
        yield address


def test_backends_are_listed_with_what_they_have_and_how_they_do(url: str) -> None:
    with Client(url) as client:
        client.submit({"name": "w", "resources": {"cpu": 1}})
        wait_for(lambda: client.workload("w")["state"] == "running")
        registered, sim = client.backends()
        assert (registered["name"], registered["source"]) == ("registered", "built-in")
        assert (sim["name"], sim["kind"], sim["source"], sim["state"]) == ("sim", "simulated", "settings", "closed")
        assert (sim["nodes"], sim["tasks"], sim["errors"], sim["problem"]) == (4, 1, 0, "")
        assert sim["calls"] >= 2  # its start, and a bind
        assert sim["latency_p50_s"] is not None
        assert sim["latency_p99_s"] is not None
        assert sim["latency_p99_s"] >= sim["latency_p50_s"]
        assert sim["last_success_at"] is not None
        assert "processes" in sim["capabilities"]
        assert "simulated" in client.backend_kinds()


def test_a_backend_is_added_shown_without_its_secrets_changed_and_removed(url: str) -> None:
    with Client(url) as client:
        made = client.add_backend("far", ENTRY)
        assert (made["kind"], made["source"], made["settings"]["key"]) == ("secretive", "added", "•••")
        wait_for(lambda: client.backend("far")["nodes"] == 2)
        with pytest.raises(DovetailError, match="there is a backend 'far' already") as caught:
            client.add_backend("far", ENTRY)
        assert caught.value.status == 409
        changed = client.add_backend("far", {**ENTRY, "patience": "1m"}, replace=True)
        assert changed["settings"]["patience"] == "1m"
        removed = client.remove_backend("far")
        assert removed == {"nodes": 2, "tasks": 0, "unconfirmed": 0}
        with pytest.raises(DovetailError, match="no backend 'far'"):
            client.backend("far")


def test_the_history_of_a_backend_outlives_it(url: str) -> None:
    with Client(url) as client:
        client.add_backend("far", ENTRY, by="ann")
        client.remove_backend("far", by="bob", note="not needed")
        lines = client.backend_history("far")
        assert [(line["kind"], line["backend"]) for line in lines] == [("backend", "far")] * 2
        assert lines[0]["message"] == "backend far added, of kind secretive by ann"
        assert lines[1]["message"].endswith("on them by bob: not needed")
        assert [line for line in client.past_events() if line["kind"] == "backend"] == lines
        assert client.backend_history("sim") == []


def test_no_answer_holds_a_secret(url: str) -> None:
    with httpx.Client(auth=OWN_TOKEN, base_url=f"{url}{API}", trust_env=False, verify=False) as http:
        answers = [
            http.put("/backends/far", json=ENTRY),
            http.put("/backends/far", json=ENTRY),
            http.put("/backends/odd", json={**ENTRY, "key": [TOKEN], "login": PASSWORD}),
            http.put("/backends/odd", json={**ENTRY, "kees": TOKEN}),
            http.get("/backends/far"),
            http.get("/backends"),
            http.get("/events?limit=100&follow=false"),
        ]
    assert [answer.status_code for answer in answers[:6]] == [201, 409, 422, 422, 200, 200]
    for answer in answers:
        assert TOKEN not in answer.text
        assert PASSWORD not in answer.text


def test_mistakes_are_problems_with_their_field(url: str) -> None:
    with httpx.Client(auth=OWN_TOKEN, base_url=f"{url}{API}", trust_env=False, verify=False) as http:
        wrong = problem_in(http.put("/backends/far", json={"kind": "simulated", "groups": [{"count": 0}]}), 422)
        assert wrong["errors"][0]["field"] == "groups[0].count"
        unknown = problem_in(http.put("/backends/far", json={"kind": "sumilated"}), 422)
        assert "Did you mean 'simulated'?" in unknown["errors"][0]["message"]
        named = problem_in(http.put("/backends/9lives", json={"kind": "local"}), 422)
        assert named["errors"][0]["field"] == "name"
        settings = problem_in(http.delete("/backends/sim"), 409)
        assert "stands in the settings" in settings["detail"]
        problem_in(http.get("/backends/nobody"), 404)


def test_metrics_tell_of_every_backend(url: str) -> None:
    with Client(url) as client:
        client.submit({"name": "w", "resources": {"cpu": 1}})
        wait_for(lambda: client.workload("w")["state"] == "running")
    text = httpx.get(f"{url}/metrics", auth=OWN_TOKEN, trust_env=False, timeout=60).text
    assert 'dovetail_backend_available{backend="sim"} 1.0' in text
    assert 'dovetail_backend_state{backend="sim",state="closed"} 1.0' in text
    assert 'dovetail_backend_calls_total{backend="sim",call="bind",outcome="succeeded"} 1.0' in text
    assert 'dovetail_backend_call_seconds_bucket{backend="sim",call="bind",le="+Inf"} 1.0' in text
    assert 'dovetail_backend_last_success_timestamp_seconds{backend="sim"}' in text


def test_a_request_names_no_file_and_no_program_of_the_server(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    hostile: dict[str, dict[str, Any]] = {
        "hosts[0].ssh.program": {
            "kind": "docker",
            "hosts": [{"name": "a", "url": "ssh://nowhere", "ssh": {"program": str(program)}}],
        },
        "token_file": {"kind": "slurm", "url": "http://127.0.0.1:1", "user": "a", "token_file": "/etc/hostname"},
    }
    settings = settings_in(tmp_path / "data")
    with serving(settings) as url, httpx.Client(auth=OWN_TOKEN, base_url=f"{url}{API}", trust_env=False) as http:
        for field, entry in hostile.items():
            problem = problem_in(http.put("/backends/evil", json=entry), 422)
            [error] = problem["errors"]
            assert error["field"] == field
            assert "settings file" in error["message"]
            problem_in(http.get("/backends/evil"), 404)
    assert not ran.exists()
    # What an older version took is not used any more.
    with sqlite3.connect(settings.database) as database:
        kept = json.dumps({key: value for key, value in hostile["token_file"].items() if key != "kind"})
        database.execute("INSERT INTO backends VALUES ('evil', 'slurm', ?, 0)", (kept,))
    with serving(settings) as url, Client(url) as client:
        row = client.backend("evil")
        assert (row["state"], "settings file" in row["problem"]) == ("unusable", True)
