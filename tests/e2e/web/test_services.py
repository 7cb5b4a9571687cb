"""The page of services, beside real services of real processes: how many replicas are healthy, how far an update is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_services import SETTINGS, settled, web
from tests.patience import wait_for
from tests.servers.browser import page_of

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with ServerProcess(tmp_path_factory.mktemp("server"), SETTINGS) as server, Client(server.url) as found:
        yield found


def test_the_dots_say_how_many_replicas_are_healthy(chromium: Any, client: Client, tmp_path: Path) -> None:
    client.apply([web(tmp_path, "v1")])
    settled(client)
    with page_of(chromium, client, "/services") as (page, _):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="web", exact=True))
        full, hollow = row.locator(".replicas .dot.ok"), row.locator(".replicas .empty-dot")
        expect(row.get_by_role("img", name="3 of 3 ready")).to_be_visible()
        expect(row).to_contain_text("complete")
        expect(page.locator(".lead")).to_have_text("1 service; all replicas are healthy.")
        (tmp_path / "unready-1").touch()
        expect(row.get_by_role("img", name="2 of 3 ready")).to_be_visible(timeout=20_000)
        expect(full).to_have_count(2)
        expect(hollow).to_have_count(1)
        expect(page.locator(".lead")).to_have_text("1 service; 1 has fewer healthy replicas than wanted.")
        row.get_by_role("link", name="web", exact=True).click()
        replicas = page.get_by_role("table", name="Replicas of web")
        unready = replicas.get_by_role("row").filter(has_text="web.1")
        expect(unready).to_contain_text("unready")
        expect(unready).to_contain_text("readiness check: /ready answers 503")
        ready = next(one for one in client.service("web")["items"] if one["ready"])
        address = f"{ready['address']}:{next(iter(ready['ports'].values()))}"
        expect(replicas.get_by_role("row").filter(has_text=ready["name"])).to_contain_text(address)
        page.get_by_role("tab", name="Endpoints 2").click()
        (tmp_path / "unready-1").unlink()
        expect(page.get_by_role("tab", name="Endpoints 3")).to_be_visible(timeout=20_000)
        expect(full).to_have_count(3)
        expect(hollow).to_have_count(0)


def test_an_update_shows_how_far_it_is_and_how_it_ended(chromium: Any, client: Client, tmp_path: Path) -> None:
    client.apply([web(tmp_path, "v1", "shop")])
    settled(client, "shop")
    with page_of(chromium, client, "/services?name=shop") as (page, _):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="shop", exact=True))
        expect(page.get_by_role("tab", name="Replicas 3")).to_be_visible()
        (tmp_path / "unready-v2").touch()
        client.apply([web(tmp_path, "v2", "shop")])
        expect(row).to_contain_text("progressing", timeout=20_000)
        expect(row).to_contain_text("1 of 3 updated")
        expect(row.get_by_role("img", name="3 of 3 ready")).to_be_visible()
        expect(page.get_by_role("tab", name="Replicas 4")).to_be_visible()
        new = page.get_by_role("table", name="Replicas of shop").get_by_role("row").filter(has_text="unready")
        expect(new).to_have_count(1)
        expect(new.get_by_role("cell").nth(1)).to_have_text("2")
        (tmp_path / "unready-v2").unlink()
        settled(client, "shop")
        expect(row).to_contain_text("complete", timeout=20_000)
        expect(page.get_by_role("tab", name="Replicas 3")).to_be_visible()
        expect(page.get_by_text("3 of 3 ready; revision 2, 3 of 3 updated.")).to_be_visible()
        (tmp_path / "unready-v3").touch()
        client.apply([web(tmp_path, "v3", "shop", update={"healthy_within": "1s"})])
        wait_for(lambda: client.service("shop")["rollout"] == "rolled_back", "the old version comes back")
        expect(row).to_contain_text("rolled back", timeout=20_000)
        expect(row).to_contain_text(client.service("shop")["message"])
