"""Lists with more rows than a page: the server searches, sorts and pages them, and the address holds what was asked."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.web.scene import HOSTILE
from tests.patience import wait_for
from tests.servers.browser import page_of

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]

MANY, PAGE = 60, 50
_LAB = {"kind": "simulated", "forever": True}
SETTINGS: dict[str, Any] = {
    "backends": {
        "sim": _LAB | {"groups": [{"prefix": "node", "count": 2, "capacity": {"cpu": 64}}]},
        "vms": _LAB
        | {
            "groups": [{"prefix": "host", "count": 1, "capacity": {"cpu": 4}}],
            "vms_of_others": [f"vm-{number}" for number in range(MANY)],
        },
        **{f"extra-{n}": _LAB | {"groups": [{"prefix": f"extra-{n}", "count": 1}]} for n in range(MANY - 5)},
        **{f"lost-{n}": {"kind": "kubernetes", "kubeconfig": "/nowhere"} for n in (1, 2)},
    }
}


@dataclass
class Listed:
    """One list. `title`: its first column, which shows `field`; `sort`: how the server calls it. `search` in the field
    that is called `find` finds so many."""

    title: str
    sort: str
    page: Callable[..., Mapping[str, Any]]
    find: str
    search: str
    found: int
    field: str = "name"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with ServerProcess(tmp_path_factory.mktemp("data"), SETTINGS) as server, Client(server.url) as found:
        found.apply([{"name": f"web-{number}", "replicas": 0, "resources": {"cpu": 1}} for number in range(MANY)])
        for number in range(MANY):
            found.set_policy({"name": f"rule-{number}", "require": f"node.capacity.cpu >= {number + 1}"})
            wanted = {"node": "node-1", "resources": {"cpu": 1}, "start": f"+{number + 1}h", "duration": "30m"}
            found.reserve_ahead(wanted | {"tenant": f"team-{number}", "holder": HOSTILE})
        wait_for(lambda: found.vm_page(limit=1)["total"] == MANY, "all VMs")
        yield found


def listed(client: Client, path: str) -> Listed:
    return {
        "/services": Listed("Service", "name", client.service_page, "Find by name", "b-59", 1),
        "/policies": Listed("Policy", "name", client.policy_page, "Find by name or rule", ">= 41", 1),
        "/reservations": Listed("Number", "id", client.reservation_page, "Find by node", "team-41", 1, field="id"),
        "/vms": Listed("VM", "name", client.vm_page, "Find by VM", "M-4", 11),
        "/backends": Listed("Backend", "name", client.backend_page, "Find by name or kind", "KUBERNETES", 2),
    }[path]


PATHS = ("/services", "/policies", "/reservations", "/vms", "/backends")


@pytest.mark.parametrize("path", PATHS)
def test_sorting_searching_and_paging_ask_the_server(chromium: Any, client: Client, path: str) -> None:
    one = listed(client, path)
    with page_of(chromium, client, f"{path}?sort={one.sort}") as (page, _):
        table = page.locator("main table").last
        rows = table.locator("tbody tr")
        first = rows.first.get_by_role("cell").first

        def asks(**wanted: str) -> Any:
            def is_it(request: Any) -> bool:
                parts = urlsplit(request.url)
                asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
                return parts.path == f"/api/v1{path}" and asked == {"limit": str(PAGE)} | wanted

            return page.expect_request(is_it)

        def first_of(**asked: Any) -> str:
            return str(one.page(**asked)["items"][0][one.field])

        expect(rows).to_have_count(PAGE)
        expect(page.get_by_text(f"1–{PAGE} of {MANY}")).to_be_visible()
        expect(first).to_have_text(first_of(sort=one.sort))
        down = f"-{one.sort}"
        with asks(sort=down):
            table.get_by_role("columnheader", name=one.title).get_by_role("button").click()
        expect(table.get_by_role("columnheader", name=one.title)).to_have_attribute("aria-sort", "descending")
        expect(first).to_have_text(first_of(sort=down))
        with asks(sort=down, offset=str(PAGE)):
            page.get_by_role("button", name="Next").click()
        expect(rows).to_have_count(MANY - PAGE)
        expect(first).to_have_text(first_of(sort=down, offset=PAGE))
        page.reload()
        expect(first).to_have_text(first_of(sort=down, offset=PAGE))
        with asks(sort=down, search=one.search):
            page.get_by_label(one.find).fill(one.search)
        expect(rows).to_have_count(one.found)
        assert one.page(search=one.search)["total"] == one.found
        assert "offset" not in page.url, "what is found begins with its first page"
        with page.expect_download() as download:
            page.get_by_role("button", name="JSON").click()
        assert len(orjson.loads(Path(download.value.path()).read_bytes())) == one.found
        page.get_by_label(one.find).fill(HOSTILE * 2)
        page.get_by_role("button", name="Show all").click()
        expect(rows).to_have_count(PAGE)


@pytest.mark.parametrize("path", ["/services", "/policies", "/vms", "/backends"])
def test_one_row_of_a_later_page_is_opened_and_the_list_stays_where_it_is(
    chromium: Any, client: Client, path: str
) -> None:
    with page_of(chromium, client, f"{path}?sort=-name&offset={PAGE}") as (page, _):
        rows = page.locator("main table").last.locator("tbody tr")
        expect(rows).to_have_count(MANY - PAGE)
        link = rows.nth(3).get_by_role("link").first
        name = link.inner_text()
        link.click()
        expect(page.get_by_role("heading", level=2).filter(has_text=name)).to_be_visible()
        expect(page.locator("main tr.pick")).to_contain_text(name)
        assert f"sort=-name&offset={PAGE}" in page.url
        page.goto(page.url.replace(f"&offset={PAGE}", ""))
        expect(page.get_by_role("heading", level=2).filter(has_text=name)).to_be_visible()
        expect(page.locator("main tr.pick")).to_have_count(0)


def test_backends_that_need_attention_come_first_and_are_named(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/backends") as (page, _):
        rows = page.locator("main table tbody tr")
        expect(rows.nth(0)).to_contain_text("lost-1")
        expect(rows.nth(1)).to_contain_text("lost-2")
        lead = page.locator(".lead")
        expect(lead).to_have_text(f"{MANY} backends; lost-1 is starting, lost-2 is starting.")
        page.get_by_role("button", name="State").click()
        expect(lead).to_have_text(f"{MANY} backends; 2 starting.")
        expect(page.locator("main tr", has_text="lost-1")).to_have_count(0)


def test_a_page_that_is_empty_by_now_leads_to_the_first_one(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/services?offset=100") as (page, _):
        page.get_by_role("button", name="Go to the first page").click()
        expect(page.get_by_text(f"1–{PAGE} of {MANY}")).to_be_visible()


def test_a_column_that_the_server_does_not_know_is_told(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/services") as (page, faults):
        faults.allowed.append("422")
        page.goto(f"{client.url}/services?sort=colour")
        expect(page.get_by_role("alert")).to_contain_text("Known columns: name, ready, rollout, revision, made_at")
