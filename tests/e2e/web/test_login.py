"""Who opens the dashboard is logged in by a link that works once, and sees nothing without it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.e2e.server_process import ServerProcess
from tests.servers.browser import Faults, page_of, watch

from dovetail.client import Client
from dovetail.client.transport.credentials import credentials_for

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    group = {"prefix": "n", "count": 2, "capacity": {"cpu": 8, "memory": "32GB"}}
    settings = {"backends": {"sim": {"kind": "simulated", "forever": True, "groups": [group]}}}
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as started:
        yield started


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as found:
        yield found


def test_a_link_logs_in_once(chromium: Any, client: Client) -> None:
    link = client.login_link()["path"]
    context = chromium.new_context()
    page = context.new_page()
    page.goto(client.url + link)
    page.wait_for_selector("#main[aria-busy=false]")
    assert "#" not in page.url
    assert page.title() == "Overview · Dovetail"
    [cookie] = context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    context.close()

    second = chromium.new_context()
    page = second.new_page()
    page.goto(client.url + link)
    page.get_by_role("alert").wait_for()
    page.get_by_role("alert").get_by_text("this link was used or has expired").wait_for()
    assert not second.cookies()
    second.close()


def test_without_a_session_a_page_asks_for_a_token_and_shows_nothing(chromium: Any, client: Client) -> None:
    client.submit({"name": "secret-name"})
    context = chromium.new_context()
    page = context.new_page()
    faults = Faults()
    watch(page, faults, client.url)
    page.goto(f"{client.url}/workloads?state=running")
    page.get_by_label("Or with a token").wait_for()
    assert "secret-name" not in page.content()
    faults.allowed.append("401")
    page.get_by_label("Or with a token").fill("nonsense-nonsense-nonsense")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    token = credentials_for(client.url).token or ""  # as somebody copies it from the file
    page.get_by_label("Or with a token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/workloads?state=running")  # it goes where the visitor wanted to go
    page.wait_for_selector("#main[aria-busy=false]")
    assert faults.found == []
    context.close()


def test_a_session_outlives_a_restart_and_ends_with_the_admin_token(
    chromium: Any, client: Client, server: ServerProcess
) -> None:
    with page_of(chromium, client) as (page, faults):
        faults.allowed += ["Failed to load resource", "ERR_"]
        server.kill()
        page.get_by_text("The connection is lost").wait_for()
        server.start()
        page.get_by_text("The connection is lost").wait_for(state="detached")
        page.get_by_role("button", name="live").wait_for()
        client.rotate_admin_token()
        page.reload()
        page.get_by_label("Or with a token").wait_for()


def test_a_session_changes_nothing_without_what_only_its_page_knows(client: Client) -> None:
    token = client.login_link()["path"].partition("#")[2]
    with httpx.Client(base_url=client.url, trust_env=False) as stranger:
        assert stranger.get("/api/v1/login").status_code == 204
        assert stranger.get("/api/v1/nodes", headers={"Authorization": f"Bearer {token}"}).status_code == 403
        opened = stranger.post("/api/v1/login", json={"token": token})
        assert opened.status_code == 201
        assert stranger.get("/api/v1/nodes").status_code == 200
        assert stranger.post("/api/v1/workloads", json={"name": "forged"}).status_code == 403
        known = {"X-Dovetail-CSRF": opened.json()["csrf"]}
        assert stranger.post("/api/v1/workloads", json={"name": "meant"}, headers=known).status_code == 201
        cookie = next(iter(stranger.cookies.jar)).value
        assert stranger.get("/api/v1/nodes", headers={"Authorization": f"Bearer {cookie}"}).status_code == 403
        assert stranger.delete("/api/v1/login", headers=known).status_code == 204
        assert stranger.get("/api/v1/nodes").status_code == 401


def test_the_dashboard_can_be_turned_off(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, {"web": {"enabled": False}}) as server, Client(server.url) as client:
        assert client.nodes() is not None
        assert httpx.get(server.url, trust_env=False).status_code == 401
