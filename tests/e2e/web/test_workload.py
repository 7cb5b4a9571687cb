"""The page of one workload: the answer, what would help, how it was decided, its tasks, output, events and actions."""

import json
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


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    nodes = {"prefix": "n", "count": 3, "capacity": {"cpu": 8, "memory": "32GB"}, "labels": {"zone": "a"}}
    more = {"prefix": "m", "count": 1, "capacity": {"cpu": 16, "memory": "32GB"}, "labels": {"zone": "b"}}
    settings = {"backends": {"sim": {"kind": "simulated", "forever": True, "groups": [nodes, more]}}}
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as server, Client(server.url) as found:
        found.submit(
            {"name": "runs", "replicas": 3, "run": {"command": ["echo", HOSTILE]}, "labels": {"said": HOSTILE}}
        )
        found.submit({"name": "wide", "resources": {"cpu": 20}})
        found.submit({"name": "flaky", "retries": 1, "run": {"simulate": {"run_time": "0.1s", "exit_code": 3}}})
        found.submit([{"name": f"pair-{one}", "gang": {"min": 2, "group": "pair"}} for one in "ab"])
        wait_for(lambda: found.workload("flaky")["state"] == "failed")
        wait_for(lambda: found.workload("runs")["state"] == "running")
        yield found


def test_a_running_workload_shows_answer_scores_and_output(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workload/default/runs") as (page, _):
        page.get_by_role("heading", name="default/runs").wait_for()
        page.get_by_text(client.explain("runs")["answer"]).wait_for()
        now = page.get_by_role("list", name="Timeline").locator("[aria-current=step]")
        expect(now).to_contain_text("● running")
        decision = client.explain("runs")["decision"]
        assert decision is not None
        chosen = page.get_by_role("region", name="Scores").locator("tr.pick")
        assert chosen.locator("td").first.inner_text().split()[0] == decision["node"]
        assert f"{decision['explanation']['best'][0]['total']:.2f}" in chosen.inner_text()
        page.get_by_role("region", name="Tasks").get_by_role("link", name="1", exact=True).click()
        log = page.get_by_role("log")
        log.get_by_text(HOSTILE).wait_for()  # what it wrote; no element of it
        assert "task=1" in page.url
        page.get_by_placeholder("Lines with").fill("nothing like that")
        page.get_by_text("0 of ").wait_for()
        page.get_by_role("tab", name="Definition").click()
        page.get_by_text(f"said: {json.dumps(HOSTILE)}").wait_for()
        page.get_by_role("tab", name="Events").click()
        page.get_by_role("cell", name="submitted default/runs, 3 tasks").wait_for()
        page.get_by_role("tab", name="Decisions").click()
        page.get_by_role("region", name="Decisions, newest first").wait_for()
        assert page.locator("main img").count() == 0


def test_the_timeline_has_every_step_with_how_long_it_took(chromium: Any, client: Client) -> None:
    row = client.workload("runs")
    assert row["submitted_at"] <= (row["placed_at"] or 0) <= (row["bound_at"] or 0) <= (row["started_at"] or 0)
    with page_of(chromium, client, "/workload/default/runs") as (page, _):
        steps = page.get_by_role("list", name="Timeline").locator("li:not(.between)")
        expect(steps).to_contain_text(["submitted", "placed", "bound", "running", "done"])
        assert [words.split()[1] for words in steps.all_inner_texts()] == [
            *("submitted", "placed", "bound", "running", "done")
        ]
        took = page.get_by_role("list", name="Timeline").locator("li.between").all_inner_texts()
        assert all(took), "between two steps stands how long it took, and before the last how long it goes on"
        page.goto(f"{client.url}/workload/default/wide")
        now = page.get_by_role("list", name="Timeline").locator("[aria-current=step]")
        now.get_by_text("queued").wait_for()
        assert steps.all_inner_texts()[2:] == ["○ placed", "○ bound", "○ running", "○ done"]


def test_the_output_is_downloaded(chromium: Any, client: Client, tmp_path: Path) -> None:
    with page_of(chromium, client, "/workload/default/runs?tab=logs") as (page, _):
        page.get_by_text("follows").wait_for()
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download").click()
        waiting.value.save_as(tmp_path / "log")
    assert HOSTILE in (tmp_path / "log").read_text()


def test_the_funnel_opens_into_the_refused_nodes(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workload/default/wide", width=390) as (page, _):
        step = page.get_by_role("button", name="resources")
        step.click()
        for row in client.refusals("wide", "resources")["items"]:
            page.locator(".refused li", has_text=row["node"]).get_by_text(row["message"]).wait_for()
        assert page.locator(".refused li").count() == 4
        assert "open=resources" in page.url
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.locator(".refused li", has_text="n-1").get_by_role("link", name="why not?").click()
        page.get_by_text("n-1 cannot take wide").wait_for()


def test_a_suggestion_is_planned_and_submitted(chromium: Any, client: Client) -> None:
    client.submit({"name": "helped", "resources": {"cpu": 12}, "node_selector": {"zone": "a"}})
    [first, *_] = client.explain("helped")["suggestions"]
    assert first["patch"] is not None
    before = client.workload("helped")["id"]
    with page_of(chromium, client, "/workload/default/helped") as (page, _):
        page.get_by_text(first["words"], exact=True).wait_for()
        page.get_by_role("button", name="Plan this").first.click()
        page.get_by_text("helped would go to").wait_for()
        assert client.workload("helped")["id"] == before, "planning changes nothing"
        page.get_by_role("button", name="Submit this").click()
        page.get_by_role("dialog").get_by_role("button", name="Submit this").click()
        page.get_by_role("list", name="Timeline").get_by_text("● running").wait_for()
    assert client.workload(before)["state"] == "cancelled"
    assert client.workload("helped")["state"] == "running"
    client.cancel("helped")


def test_a_suggestion_that_evicts_says_whom_and_stops_them_after_a_question(chromium: Any, client: Client) -> None:
    client.submit({"name": "holder", "resources": {"cpu": 9}, "priority": "low"})
    wait_for(lambda: client.workload("holder")["state"] == "running")
    client.submit({"name": "needy", "resources": {"cpu": 9}, "priority": "low"})
    [evicting] = [one for one in client.explain("needy")["suggestions"] if one["kind"] == "evict"]
    with page_of(chromium, client, "/workload/default/needy") as (page, _):
        one = page.locator(".suggestion", has_text=evicting["words"]).first
        one.get_by_role("button", name="Plan this").click()
        whom = one.get_by_role("table", name="Whom it would stop")
        whom.get_by_role("link", name="default/holder.0").wait_for()
        assert client.workload("holder")["state"] == "running", "planning stops nobody"
        page.get_by_role("button", name="Stop 1 task…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("holder.0 loses what it did since its last checkpoint").wait_for()
        dialog.get_by_role("button", name="Stop 1 task").click()
        page.get_by_text("1 task asked to stop for needy").wait_for()
        page.get_by_role("list", name="Timeline").get_by_text("● running").wait_for()
        page.goto(f"{client.url}/workload/default/holder")
        page.get_by_role("list", name="Timeline").locator("[aria-current=step]").get_by_text("queued").wait_for()
        steps = page.get_by_role("list", name="Timeline").locator("li:not(.between)")
        expect(steps).to_contain_text(["submitted", "placed", "bound", "running", "queued", "done"])
        expect(steps).to_have_count(6)
    assert client.workload("holder")["state"] == "pending"
    assert "preempted by needy" in client.attempts("holder")["items"][0]["message"]
    for name in ("needy", "holder"):
        client.cancel(name)


def test_failed_tasks_run_again_and_the_whole_is_submitted_again(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workload/default/flaky") as (page, _):
        page.get_by_text("flaky failed").wait_for()
        expect(page.get_by_role("img", name="Attempts over time").locator("i.bad")).to_have_count(2)
        page.get_by_role("button", name="Retry 1 failed task").click()
        page.get_by_text("1 task runs again").wait_for()
        wait_for(lambda: client.attempts("flaky")["total"] > 2)
        wait_for(lambda: client.workload("flaky")["state"] == "failed")
        before = client.workload("flaky")["id"]
        page.get_by_role("button", name="Resubmit").click()
        wait_for(lambda: client.workload("flaky")["id"] != before)


def test_it_is_cancelled_after_a_question(chromium: Any, client: Client) -> None:
    client.submit({"name": "unwanted"})
    with page_of(chromium, client, "/workload/default/unwanted") as (page, _):
        page.get_by_role("button", name="Cancel…").click()
        page.get_by_role("button", name="Cancel it").click()
        page.get_by_text("unwanted cancelled").wait_for()
        page.get_by_role("button", name="Resubmit").wait_for()
    assert client.workload("unwanted")["state"] == "cancelled"


def test_groups_and_forgotten_names_have_their_pages(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/workload/default/pair") as (page, faults):
        page.get_by_text("A group whose workloads start together: 2 workloads").wait_for()
        page.get_by_role("link", name="pair-b").click()
        page.get_by_role("heading", name="default/pair-b").wait_for()
        page.get_by_role("link", name="pair", exact=True).wait_for()
        faults.allowed.append("404")
        page.goto(f"{client.url}/workload/default/{HOSTILE.replace('/', '')}")
        page.get_by_text("There is no workload of that name").wait_for()
