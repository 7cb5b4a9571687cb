"""Nothing is told or done without a token, and a token does no more than it is for."""

import base64
import re
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from tests.unit.api.server import API, problem_in, serving, settings_in

from dovetail.client import Client, ConnectError, DovetailError
from dovetail.client.transport.credentials import credentials_for

METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}


@pytest.fixture(scope="module")
def stranger(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=60, trust_env=False, verify=False) as client:
        yield client


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[Client]:
    with Client(url) as found:
        yield found


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def own_token(url: str) -> str:
    found = credentials_for(url).token
    assert found is not None
    return found


def test_every_route_but_the_probes_needs_a_token(url: str, stranger: httpx.Client) -> None:
    document = stranger.get("/openapi.json", headers=bearer(own_token(url))).json()
    asked = 0
    for path, operations in document["paths"].items():
        for method in METHODS & operations.keys():
            if path in ("/health", "/ready") or (path == f"{API}/login" and method in ("get", "post")):
                assert operations[method]["security"] == []
                continue
            address = re.sub(r"\{[^}]*\}", "1", path)
            problem = problem_in(stranger.request(method, address), 401)
            assert problem["type"] == "urn:dovetail:problem:unauthorized"
            asked += 1
    assert asked > 70


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/metrics", "/nowhere", f"{API}/events", "/health/"])
def test_pages_streams_and_addresses_without_a_route_need_one_too(stranger: httpx.Client, path: str) -> None:
    answer = stranger.get(path, headers={"Accept": "text/event-stream"})
    problem = problem_in(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"
    for way in ("DOVETAIL_TOKEN", "--token-file", "admin.token"):
        assert way in problem["detail"]


def test_probes_stay_open_and_tell_nothing(stranger: httpx.Client) -> None:
    assert stranger.get("/health").json() == {"status": "ok", "detail": ""}
    assert stranger.get("/ready").json() == {"status": "ready", "detail": ""}


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "bearer wrong wrong", "Basic", "Basic ???"])
def test_what_is_no_token_is_refused(stranger: httpx.Client, given: str) -> None:
    problem_in(stranger.get(f"{API}/nodes", headers={"Authorization": given}), 401)


def test_two_tokens_are_none(url: str, stranger: httpx.Client) -> None:
    twice = [("Authorization", f"Bearer {own_token(url)}")] * 2
    problem_in(stranger.get(f"{API}/nodes", headers=twice), 401)


def test_a_browser_sends_the_token_as_a_password_and_only_reads(url: str, stranger: httpx.Client) -> None:
    asks = stranger.get("/docs", headers={"Accept": "text/html"})
    assert asks.headers["www-authenticate"].startswith("Basic ")
    password = base64.b64encode(f"anybody:{own_token(url)}".encode()).decode()
    as_browser = {"Authorization": f"Basic {password}"}
    assert stranger.get("/docs", headers=as_browser).status_code == 200
    problem_in(stranger.post(f"{API}/workloads", json={"name": "clicked"}, headers=as_browser), 401)


def test_the_token_lies_in_a_private_file_and_nowhere_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path, logging={"level": "debug"})
    with serving(settings) as url, Client(url) as client:
        client.submit({"name": "noticed"})
        joins = client.make_join_token()["token"]
        node = client.register_node({"name": "mine", "capacity": {"cpu": 1}})["token"]
        token = client.rotate_admin_token()["token"]
    assert settings.token_file.read_text().strip() == token
    assert stat.S_IMODE(settings.token_file.stat().st_mode) == 0o600
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != settings.token_file]
    texts.append("".join(capfd.readouterr()).encode())
    for secret in (joins, node, token):
        assert not any(secret.encode() in text for text in texts)


def test_a_second_start_keeps_the_token_and_a_lost_one_is_made_again(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with serving(settings) as url:
        first = own_token(url)
    with serving(settings) as url:
        assert own_token(url) == first
    settings.token_file.unlink()
    with serving(settings) as url:
        assert own_token(url) != first
        with Client(url, first) as late, pytest.raises(DovetailError, match="no longer, valid"):
            late.nodes()


def test_a_token_of_your_own_comes_from_a_file_that_the_settings_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.token"
    file.write_text("a-token-that-i-made-myself\n")
    settings = settings_in(tmp_path / "data", access={"token_file": str(file)})
    with serving(settings) as url, Client(url, "a-token-that-i-made-myself") as client:
        assert client.nodes()
        with pytest.raises(DovetailError, match="change it there"):
            client.rotate_admin_token()


def test_rotating_ends_the_old_token_and_a_client_that_found_it_goes_on(url: str) -> None:
    old = own_token(url)
    with Client(url) as found_it, Client(url, old) as was_given_it:
        assert found_it.nodes()
        assert was_given_it.nodes()
        new = found_it.rotate_admin_token()["token"]
        assert new not in ("", old)
        with Client(url) as rotates:
            rotates.rotate_admin_token()
        assert found_it.nodes()
        with pytest.raises(DovetailError) as caught:
            was_given_it.nodes()
    assert caught.value.status == 401


def test_the_token_of_a_node_speaks_for_that_node_alone(url: str, client: Client) -> None:
    mine = client.register_node({"name": "mine", "capacity": {"cpu": 1}})["token"]
    client.register_node({"name": "other", "capacity": {"cpu": 1}})
    with Client(url, mine) as agent:
        agent.heartbeat("mine", used={"cpu": 1})
        assert agent.node("mine")["name"] == "mine"
        agent.register_node({"name": "mine", "capacity": {"cpu": 2}})
        for refused in (
            lambda: agent.heartbeat("other"),
            lambda: agent.node("other"),
            lambda: agent.register_node({"name": "other", "capacity": {"cpu": 8}}),
            lambda: agent.register_node({"name": "new", "capacity": {"cpu": 8}}),
            lambda: agent.cordon("mine"),
            lambda: agent.remove_node("mine"),
            lambda: agent.make_node_token("mine"),
            lambda: agent.submit({"name": "sneaky"}),
            agent.nodes,
            agent.rotate_admin_token,
            agent.make_join_token,
        ):
            with pytest.raises(DovetailError, match="speaks for node mine alone") as caught:
                refused()
            assert caught.value.status == 403
        again = client.make_node_token("mine")["token"]
        with pytest.raises(DovetailError, match="valid here"):
            agent.heartbeat("mine")
    with Client(url, again) as agent:
        agent.heartbeat("mine")
        client.remove_node("mine")
        with pytest.raises(DovetailError, match="valid here"):
            agent.heartbeat("mine")
    client.remove_node("other")


def test_a_node_of_a_backend_gets_no_token(client: Client) -> None:
    with pytest.raises(DovetailError, match="belongs to backend 'sim'") as caught:
        client.make_node_token("node-1")
    assert caught.value.status == 409


def test_a_join_token_admits_so_many_new_nodes_and_does_nothing_else(url: str, client: Client) -> None:
    made = client.make_join_token(uses=2)
    with Client(url, made["token"]) as joining:
        own = joining.register_node({"name": "first", "capacity": {"cpu": 1}})["token"]
        with Client(url, own) as agent:
            agent.heartbeat("first")
        for refused in (joining.nodes, lambda: joining.heartbeat("first"), lambda: joining.make_join_token()):
            with pytest.raises(DovetailError, match="registers a new node and does nothing else"):
                refused()
        with pytest.raises(DovetailError, match="has joined already"):
            joining.register_node({"name": "first", "capacity": {"cpu": 64}})
        with pytest.raises(DovetailError, match="has joined already"):
            joining.register_node({"name": "node-1", "capacity": {"cpu": 64}})
        joining.register_node({"name": "second", "capacity": {"cpu": 1}})
        with pytest.raises(DovetailError, match="valid here"):
            joining.register_node({"name": "third", "capacity": {"cpu": 1}})
    assert made["id"] not in [row["id"] for row in client.join_tokens()]
    for name in ("first", "second"):
        client.remove_node(name)


def test_a_join_token_ends_with_its_time_or_when_it_is_revoked(
    url: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, revoked = client.make_join_token(ttl=60), client.make_join_token(ttl=3600)
    client.revoke_join_token(revoked["id"])
    with pytest.raises(DovetailError, match="dovetail token list"):
        client.revoke_join_token(revoked["id"])
    later = SimpleNamespace(time=lambda: late["expires_at"] + 1)
    monkeypatch.setattr("dovetail.control.services.access.time", later)
    for token in (late["token"], revoked["token"]):
        with Client(url, token) as joining, pytest.raises(DovetailError, match="valid here"):
            joining.register_node({"name": "too-late", "capacity": {"cpu": 1}})


@pytest.mark.parametrize("wrong", [{"uses": 0}, {"uses": 10_001}, {"ttl": "0s"}, {"ttl": "31d"}])
def test_a_join_token_is_always_bounded(url: str, stranger: httpx.Client, wrong: dict[str, object]) -> None:
    problem_in(stranger.post(f"{API}/tokens/join", json=wrong, headers=bearer(own_token(url))), 422)


def test_tokens_of_nodes_outlive_a_restart_as_digests(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with serving(settings) as url, Client(url) as client:
        own = client.register_node({"name": "mine", "capacity": {"cpu": 1}})["token"]
        joins = client.make_join_token(uses=1)["token"]
    with sqlite3.connect(settings.database) as database:
        rows = database.execute("SELECT kind, digest, node, uses_left FROM tokens ORDER BY id").fetchall()
    assert [(kind, len(digest), node, uses) for kind, digest, node, uses in rows] == [
        ("node", 64, "mine", None),
        ("join", 64, None, 1),
    ]
    with serving(settings) as url:
        with Client(url, own) as agent:
            agent.heartbeat("mine")
        with Client(url, joins) as joining:
            joining.register_node({"name": "later", "capacity": {"cpu": 1}})


def test_a_token_is_sent_only_to_the_server_that_noted_itself(url: str) -> None:
    elsewhere = url.replace("127.0.0.1", "127.0.0.2")
    assert credentials_for(elsewhere).token is None
    assert credentials_for(url.replace("http:", "https:")).token is None
    with Client(elsewhere, timeout_s=5) as client, pytest.raises((DovetailError, ConnectError)):
        client.nodes()


def test_a_token_that_differs_in_one_letter_is_refused(url: str) -> None:
    token = own_token(url)
    for place in (0, len(token) // 2, -1):
        letters = list(token)
        letters[place] = "x" if letters[place] != "x" else "y"
        answer = httpx.get(f"{url}{API}/nodes", headers=bearer("".join(letters)), trust_env=False, timeout=60)
        assert answer.status_code == 401


def test_a_login_link_opens_one_session_and_nothing_else(url: str, stranger: httpx.Client) -> None:
    made = stranger.post(f"{API}/login/links", headers=bearer(own_token(url))).json()
    token = made["path"].partition("#")[2]
    assert made["expires_at"] <= time.time() + 300
    problem_in(stranger.post(f"{API}/nodes", json={"name": "x"}, headers=bearer(token)), 403)
    assert stranger.post(f"{API}/login", json={"token": token}).status_code == 201
    stranger.cookies.clear()
    problem_in(stranger.post(f"{API}/login", json={"token": token}), 401)
    problem_in(stranger.post(f"{API}/login", json={"token": "x" * 9999}), 422)


def test_pages_hold_no_data_and_their_files_are_kept_for_ever(stranger: httpx.Client) -> None:
    shell = stranger.get("/workload/team/anything%2Fat-all")
    assert shell.headers["cache-control"] == "no-cache"
    for address in re.findall(r'(?:href|src)="([^"]+)"', shell.text):
        file = stranger.get(address)
        assert file.status_code == 200, address
        assert "immutable" in file.headers["cache-control"]
    for wrong in ("/web/0/app.js", f"{address.rpartition('/')[0]}/../../assets.py", "/web/", "/web/index.html"):
        assert stranger.get(wrong).status_code in (401, 404)
