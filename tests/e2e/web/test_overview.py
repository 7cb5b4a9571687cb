"""The overview says first what needs attention and what to do; an empty cluster says how to begin. Events are found by
kind, workload, node and words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.browser import page_of

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]

HOSTILE = "<img src=x onerror=alert(1)>"
NODES = {"prefix": "n", "count": 6, "capacity": {"cpu": 8, "memory": "32GB"}, "labels": {"rack": "r1"}}
KINDS = "[...document.querySelectorAll('tbody tr')].map((row) => row.cells[1].innerText)"
OTHER_PAGES = ["Failed to load resource"]  # of pages that are not this test's


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {"backends": {"sim": {"kind": "simulated", "forever": True, "groups": [NODES]}}}
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as started:
        with Client(started.url) as client:
            wait_for(lambda: len(client.nodes()) == 6)
            client.submit({"name": "web", "replicas": 4, "resources": {"cpu": 2}, "namespace": "shop"})
            client.submit({"name": "giant", "resources": {"cpu": 500}})
            client.cordon("n-6", reason=HOSTILE)
            wait_for(lambda: client.attention()["items"])
            wait_for(lambda: client.workload("web", namespace="shop")["state"] == "running")
        yield started


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as found:
        yield found


def test_what_needs_attention_stands_first_with_its_next_step(chromium: Any, client: Client) -> None:
    with page_of(chromium, client) as (page, faults):
        first = page.locator("#main section").first
        first.get_by_text("giant fits on no node").wait_for()
        expect(page.locator(".lead")).to_contain_text("6 nodes, 1 running, 1 waiting. 1 thing needs attention.")
        faults.allowed += OTHER_PAGES
        first.get_by_role("link", name="Why, and what would help").click()
        page.wait_for_url("**/workload/default/giant")


def test_every_figure_leads_to_what_explains_it(chromium: Any, client: Client) -> None:
    with page_of(chromium, client) as (page, _):
        tiles = page.locator("a.stat")
        words = {tile.split("\n")[0]: tile for tile in tiles.all_inner_texts()}
        summary = client.summary()
        assert f"{summary['resources']['cpu']['share']:.0%}".replace("%", " %") in words["CPU in use"]
        assert list(words) == ["CPU in use", "Memory in use", "Waiting", "Decisions", "Failures"], "there are no GPUs"
        links = [tile.get_attribute("href") for tile in tiles.all()]
        assert links[2] == "/workloads?state=pending"
        page.get_by_role("button", name="7 d").click()
        page.wait_for_url("**?range=7d")
        page.locator("svg[aria-label='CPU in use, last 5 min']").wait_for()  # what was recorded of seven days


def test_decisions_and_changes_are_live_and_hold_text_as_text(chromium: Any, client: Client) -> None:
    with page_of(chromium, client) as (page, _):
        decisions = page.get_by_label("Last decisions").first
        expect(decisions).to_contain_text("shop/web")
        changes = page.get_by_label("What changed in the last hour")
        expect(changes).to_contain_text(f"node n-6 cordoned: {HOSTILE}")
        client.submit({"name": "newcomer", "resources": {"cpu": 1}})
        decisions.get_by_role("link", name="newcomer").wait_for()


def test_events_are_found_by_kind_workload_node_and_words(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/events") as (page, faults):
        rows = page.locator("tbody tr")
        rows.filter(has_text=HOSTILE).wait_for()
        page.get_by_role("group", name="Kinds").get_by_role("button", name="placed").click()
        page.wait_for_url("**?kind=placed")
        page.wait_for_function(
            "() => [...document.querySelectorAll('tbody tr')].every((r) => r.cells[1].innerText === 'placed')"
        )
        page.get_by_label("Workload: namespace/name").fill("shop/web")
        page.get_by_label("Workload: namespace/name").press("Enter")
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 4")
        client.submit({"name": "late", "resources": {"cpu": 1}})
        page.goto(f"{client.url}/events?search=ONERROR")
        page.get_by_text("Looked through the latest").wait_for()
        expect(rows).to_have_count(1)
        page.goto(f"{client.url}/events?node=n-6&kind=node")
        rows.filter(has_text="cordoned").wait_for()
        client.uncordon("n-6")
        rows.filter(has_text="node n-6 online").first.wait_for()
        client.cordon("n-6", reason=HOSTILE)
        faults.allowed.append("404")
        page.goto(f"{client.url}/events?workload=nobody")
        page.get_by_text("No such workload").wait_for()
        page.goto(f"{client.url}/events?kind=budget")
        page.get_by_role("button", name="Show all events").click()
        rows.first.wait_for()


def test_preemptions_are_a_kind_of_their_own(chromium: Any, client: Client) -> None:
    there = {"constraints": [{"require": 'node.name == "n-1"'}], "resources": {"cpu": 1, "memory": "20GB"}}
    client.submit({"name": "yielding", "priority": "batch", **there})
    wait_for(lambda: client.workload("yielding")["state"] == "running")
    client.submit({"name": "incident", "priority": "critical", **there})
    wait_for(lambda: client.workload("incident")["state"] == "running")
    [row] = client.event_page(kinds=["preempted"])["items"]
    assert (row["name"], row["node"]) == ("yielding", "n-1")
    assert not client.event_page(kinds=["stopping"], workload="yielding")["items"], "it is told once"
    with page_of(chromium, client) as (page, _):
        line = page.get_by_label("What changed in the last hour").locator(".change", has_text="preempted by incident")
        assert line.locator(".tag").inner_text() == "preempted"
        page.goto(f"{client.url}/events")
        page.get_by_role("group", name="Kinds").get_by_role("button", name="preempted").click()
        page.wait_for_url("**?kind=preempted")
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
        page.locator("tbody tr", has_text="preempted by incident").wait_for()
    client.cancel("incident")
    client.cancel("yielding")


def test_notes_are_marked_in_the_charts_and_said_below(chromium: Any, client: Client) -> None:
    client.note(f"maintenance of the switch {HOSTILE}")
    with page_of(chromium, client) as (page, _):
        waiting = page.get_by_label("Waiting by queue")
        waiting.get_by_label("Notes").get_by_text(f"maintenance of the switch {HOSTILE}").wait_for()
        marks = page.locator(".note-line title")
        expect(marks.nth(1), "in the tiles too").to_be_attached()
        assert all("maintenance of the switch" in words for words in marks.all_text_contents())
        client.note("driver 550 is rolled out")
        waiting.get_by_label("Notes").get_by_text("driver 550 is rolled out").wait_for()
        waiting.get_by_label("Notes").get_by_role("link", name="all").click()
        page.wait_for_url("**/events?kind=note")
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 2")


def test_earlier_events_are_a_page_further(chromium: Any, client: Client) -> None:
    client.submit({"name": "many", "replicas": 60, "resources": {"cpu": "100m"}, "namespace": "paging"})
    wait_for(lambda: client.workload("many", namespace="paging")["state"] == "running")
    with page_of(chromium, client, "/events") as (page, _):
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 100")
        newest = page.locator("tbody tr").first.inner_text()
        page.get_by_role("button", name="Earlier").click()
        page.wait_for_url("**before=**")
        page.get_by_text("Of the past.").wait_for()
        page.wait_for_function("(text) => document.querySelector('tbody tr').innerText !== text", arg=newest)
        page.go_back()
        page.get_by_text("as they happen").wait_for()


def test_an_empty_cluster_says_how_to_begin(chromium: Any, tmp_path: Path) -> None:
    with ServerProcess(tmp_path, {"backends": {}}) as empty, Client(empty.url) as client:
        with page_of(chromium, client) as (page, _):
            page.get_by_text("this is how it begins").wait_for()
            expect(page.get_by_text("dovetail token join")).to_be_visible()
        with page_of(chromium, client, "/topology") as (page, _):
            page.get_by_text("No nodes yet").wait_for()
        with page_of(chromium, client, "/events") as (page, _):
            page.get_by_role("heading", name="Events").wait_for()
