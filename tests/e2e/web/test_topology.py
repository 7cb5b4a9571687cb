"""The map shows every domain and node, follows what happens, finds nodes, and shows where a workload is and why."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.browser import page_of

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]

HOSTILE = "<img src=x onerror=alert(1)>"
FABRIC = {
    "spines": 2,
    "leaves_per_spine": 2,
    "nodes_per_leaf": 8,
    "racks_per_leaf": 2,
    "zones": 2,
    "prefix": "gpu",
}
LOOSE = {"prefix": "loose", "count": 3, "capacity": {"cpu": 4, "memory": "8GB"}}

# what the map shows now: rows by name, and where the cell of a node is on the screen
USE = "([name]) => [...document.querySelector('topology-map').what.model.nodes.values()].find((n) => n.name === name)"
MIDDLE = """([name]) => {
  const map = document.querySelector('topology-map');
  const node = [...map.what.model.nodes.values()].find((n) => n.name === name);
  const box = map.getBoundingClientRect();
  const { x, y, k } = map.eye;
  return [box.left + (node.x + node.w / 2 - x) * k, box.top + (node.y + node.h / 2 - y) * k];
}"""
DRAWN = "() => document.querySelector('topology-map')?.dataset.version !== undefined"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {
        "backends": {
            "dc": {"kind": "simulated", "forever": True, "leaf_spine": FABRIC},
            "edge": {"kind": "simulated", "forever": True, "groups": [LOOSE]},
        }
    }
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as started:
        with Client(started.url) as client:
            wait_for(lambda: len(client.nodes()) == 35)
            gang = {"gang": {"min": 12}, "resources": {"cpu": 8, "gpu": 8}, "replicas": 12, "namespace": "research"}
            client.submit({"name": "pretrain", **gang})
            wait_for(lambda: client.workload("pretrain", namespace="research")["state"] == "running")
        yield started


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as found:
        yield found


def test_the_map_shows_domains_nodes_and_what_happens(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/topology") as (page, _):
        page.wait_for_function(DRAWN)
        assert "2 spines, 4 leaves, 8 racks, 35 nodes, 256 GPUs" in page.locator(".lead").inner_text()
        names = page.evaluate(
            "() => document.querySelector('topology-map').layout.boxes.map((box) => box.names.join('/'))"
        )
        assert {"s1-l1", "s2-l2", "s1-l1-r1", "edge"} <= {name.split("/")[-1] for name in names}
        assert page.evaluate(USE, ["gpu-s2-l2-n8"])["use"] == 0
        client.cordon("gpu-s2-l2-n8", reason=HOSTILE)
        page.wait_for_function(f"() => ({USE})(['gpu-s2-l2-n8']).health === 1")
        page.get_by_role("button", name="Health").click()
        page.wait_for_function("() => location.search === '?colour=health'")
        expect(page.get_by_text("cordoned")).to_be_visible()
        client.uncordon("gpu-s2-l2-n8")
        page.wait_for_function(f"() => ({USE})(['gpu-s2-l2-n8']).health === 0")


def test_a_gang_is_outlined_and_the_panel_says_how_near_and_why(chromium: Any, client: Client) -> None:
    on_map = client.topology_map(workload="pretrain", namespace="research")["workload"]
    with page_of(chromium, client, "/topology") as (page, faults):
        page.get_by_label("Show a workload").fill("research/pretrain")
        page.get_by_label("Show a workload").press("Enter")
        panel = page.get_by_label("Selected workload")
        panel.wait_for()
        for words in (str(on_map["level"]), str(on_map["domain"]), "12 on 12 nodes", "the best possible"):
            expect(panel).to_contain_text(words)
        expect(panel).to_contain_text("Why there, and no nearer")
        expect(panel).to_contain_text("Links between its tasks")
        assert page.evaluate("() => document.querySelector('topology-map').what.workload.row.length") == 12
        assert "workload=research%2Fpretrain" in page.url
        page.get_by_role("button", name="Show no workload").click()
        panel.wait_for(state="detached")
        faults.allowed.append("404")
        page.goto(f"{client.url}/topology?workload=nobody")
        page.get_by_text("No such workload").wait_for()


def test_the_address_holds_what_is_looked_at(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/topology?at=s1-l2&colour=tenant") as (page, _):
        page.wait_for_function(DRAWN)
        near = page.evaluate("() => document.querySelector('topology-map').eye.k")
        page.get_by_label("Part of the map").get_by_role("button", name="Everything").click()
        page.wait_for_function(f"() => document.querySelector('topology-map').eye.k < {near} * 0.6")
        assert "at=" not in page.url
        box = page.locator("topology-map").bounding_box()
        page.mouse.move(box["x"] + 300, box["y"] + 200)
        page.mouse.wheel(0, -600)
        page.wait_for_url("**eye=**")
        before = page.evaluate("() => document.querySelector('topology-map').eye")
        page.reload()
        page.wait_for_function(DRAWN)
        after = page.evaluate("() => document.querySelector('topology-map').eye")
        assert after["k"] == pytest.approx(before["k"], rel=0.01)
        assert after["x"] == pytest.approx(before["x"], abs=2)


def test_hover_shows_a_node_a_click_opens_it_and_search_marks_it(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/topology") as (page, faults):
        page.wait_for_function(DRAWN)
        page.get_by_label("Find nodes").fill("loose")
        page.get_by_text("3 nodes", exact=True).wait_for()
        x, y = page.evaluate(MIDDLE, ["gpu-s1-l1-n1"])
        page.mouse.move(x, y)
        page.locator(".map-card").get_by_text("gpu-s1-l1-n1").wait_for()
        expect(page.locator(".map-card")).to_contain_text("s1-l1-r1")
        faults.allowed.append("pages/node.js")
        faults.allowed.append("Failed to load resource")
        page.mouse.click(x, y)
        page.wait_for_url("**/node/gpu-s1-l1-n1")


def test_with_keys_alone_and_as_a_table(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/topology") as (page, faults):
        page.wait_for_function(DRAWN)
        page.locator("topology-map canvas[role=application]").focus()
        said = page.locator("topology-map [role=status]")
        page.keyboard.press("ArrowRight")
        expect(said).not_to_be_empty()
        first = said.inner_text()
        page.keyboard.press("ArrowRight")
        expect(said).not_to_have_text(first)
        second = said.inner_text()
        assert " of 8 GPUs in use" in second or "loose" in second
        page.get_by_role("button", name="Table").press("Enter")
        page.get_by_role("row", name="edge backend 3").wait_for()
        page.get_by_role("button", name="sim-1", exact=True).press("Enter")
        page.get_by_role("button", name="sim-1-z1", exact=True).press("Enter")
        page.get_by_role("button", name="s1-l1", exact=True).press("Enter")
        page.get_by_role("button", name="s1-l1-r2", exact=True).press("Enter")
        page.get_by_role("link", name="gpu-s1-l1-n8").wait_for()
        expect(page.get_by_role("row")).to_have_count(5)
        faults.allowed += ["pages/node.js", "Failed to load resource"]
        page.get_by_role("link", name="gpu-s1-l1-n8").press("Enter")
        page.wait_for_url("**/node/gpu-s1-l1-n8")
