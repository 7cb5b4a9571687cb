"""The table of workloads, and the page that says why a workload is not on a node."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.servers.browser import page_of

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    group = {"prefix": "n", "count": 2, "capacity": {"cpu": 8, "memory": "32GB"}, "labels": {"zone": "a"}}
    settings = {"backends": {"sim": {"kind": "simulated", "forever": True, "groups": [group]}}}
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as server, Client(server.url) as found:
        found.submit([{"name": f"small-{number:03}", "resources": {"cpu": "50m"}} for number in range(120)])
        found.submit({"name": "large", "namespace": "lab", "resources": {"cpu": 6}, "node_selector": {"zone": HOSTILE}})
        found.submit({"name": "wide", "resources": {"cpu": 20}})
        found.submit({"name": "gone"})
        found.cancel("gone", reason=HOSTILE)
        yield found


def names(page: Any) -> list[str]:
    return list(page.locator("table tbody tr td:nth-child(2)").all_inner_texts())


def test_the_server_filters_searches_sorts_and_pages(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workloads?sort=name") as (page, _):
        page.get_by_role("button", name="all 123").wait_for()
        expect(page.locator("table tbody tr")).to_have_count(50)
        page.get_by_role("button", name="Next").click()
        page.get_by_text("51–100 of 123").wait_for()
        assert "offset=50" in page.url
        page.get_by_placeholder("Name contains").fill("small-01")
        page.get_by_text("10 rows").wait_for()
        assert names(page) == [f"small-01{digit}" for digit in range(10)]
        page.get_by_role("button", name="Name").click()
        page.get_by_role("button", name="Name ↓").wait_for()
        page.wait_for_function("() => document.querySelector('tbody td:nth-child(2)').innerText === 'small-019'")
        page.reload()  # the address holds all of it
        page.get_by_text("10 rows").wait_for()
        assert names(page)[0] == "small-019"


def test_states_namespaces_and_columns_are_chosen(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workloads") as (page, _):
        page.get_by_role("button", name="pending 2").click()
        page.get_by_text("2 rows").wait_for()
        assert set(names(page)) == {"lab/large", "wide"}
        expect(page.get_by_role("row", name="wide"), "it says why it waits").to_contain_text("cpu")
        page.get_by_label("Namespace").select_option("lab")
        page.get_by_text("1 row").wait_for()
        page.get_by_text("Columns").click()
        page.get_by_label("User").check()
        page.get_by_role("columnheader", name="User").wait_for()
        assert "columns=" in page.url
        page.get_by_placeholder("Name contains").fill(HOSTILE)
        page.get_by_text("No workload is like that").wait_for()
        page.get_by_role("button", name="Show all").click()
        page.get_by_role("button", name="all 123").wait_for()


def test_all_that_is_meant_is_exported(chromium: Any, client: Client, tmp_path: Path) -> None:
    with page_of(chromium, client, "/workloads?search=small") as (page, _):
        page.get_by_text("1–50 of 120").wait_for()
        for kind in ("CSV", "JSON"):
            with page.expect_download() as waiting:
                page.get_by_role("button", name=kind).click()
            waiting.value.save_as(tmp_path / kind)
    rows = list(csv.DictReader((tmp_path / "CSV").open()))
    assert len(rows) == len(json.loads((tmp_path / "JSON").read_text())) == 120
    assert {row["name"] for row in rows} == {f"default/small-{number:03}" for number in range(120)}


def test_several_are_cancelled_at_once_after_a_question(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workloads?search=small-00") as (page, _):
        page.get_by_label("Pick small-001").check()
        page.get_by_label("Pick small-002").check()
        page.get_by_role("button", name="Cancel 2…").click()
        page.get_by_role("button", name="Leave it").click()
        assert client.workload("small-001")["finished_at"] is None
        page.get_by_role("button", name="Cancel 2…").click()
        page.get_by_role("button", name="Cancel 2 workloads").click()
        page.get_by_role("button", name="cancelled 2").wait_for()
        page.get_by_placeholder("Name contains").fill("small-11")
        page.get_by_role("link", name="small-110").wait_for()
        page.get_by_role("button", name="Cancel all of these…").click()
        page.get_by_role("button", name="Cancel 10 workloads").click()
        page.get_by_role("button", name="cancelled 10").wait_for()
    found = client.workloads(state="cancelled", limit=100)["items"]
    wanted = {"gone", "small-001", "small-002"} | {f"small-11{digit}" for digit in range(10)}
    assert {row["name"] for row in found} == wanted


def test_a_change_is_shown_without_asking(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workloads?search=comes-later") as (page, _):
        page.get_by_text("No workload is like that").wait_for()
        client.submit({"name": "comes-later"})
        page.get_by_role("link", name="comes-later").wait_for()


def test_hostile_words_are_only_words(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workloads?search=gone", width=390, dark=True) as (page, _):
        page.get_by_text(HOSTILE).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.locator("main img").count() == 0


def test_why_not_answers_for_a_workload_and_a_node(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/why-not") as (page, faults):
        page.get_by_text("Nothing was asked yet").wait_for()
        page.get_by_text("These wait now:").wait_for()
        page.get_by_role("button", name="default/wide").click()
        page.wait_for_url("**?workload=default%2Fwide")
        page.get_by_label("Workload").fill("wi")
        page.wait_for_selector("datalist option[value=wide]", state="attached")
        page.get_by_label("Workload").fill("wide")
        page.get_by_label("Node").fill("n-1")
        page.keyboard.press("Enter")
        page.get_by_text("n-1 cannot take wide").wait_for()
        answer = client.why_not("wide", "n-1")
        assert answer["answer"] in page.get_by_role("status").first.inner_text()
        row = page.get_by_role("row", name="resources").inner_text()
        assert "20" in row
        assert answer["refused"][0].get("free", "") in row
        page.get_by_text("instead of 20").wait_for()
        page.get_by_role("link", name="Plan this").click()
        page.get_by_text("wide would go to").wait_for()
        faults.allowed.append("404")
        page.goto(f"{client.url}/why-not?workload={HOSTILE}&node=n-1")
        page.get_by_role("alert").wait_for()
        assert "<img" in page.get_by_role("alert").inner_text()


def test_why_not_says_what_of_several_filters_has_to_change(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/why-not?workload=lab/large&node=n-2") as (page, _):
        page.get_by_role("row", name="node selector").wait_for()
        page.get_by_role("link", name="What would help on any node").click()
        page.get_by_role("heading", name="lab/large").wait_for()
