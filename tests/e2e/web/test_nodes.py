"""The pages of nodes: what they show, and that their actions do what they say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.web.scene import HOSTILE, scene
from tests.patience import wait_for
from tests.servers.browser import page_of

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with scene(tmp_path_factory.mktemp("data")) as server, Client(server.url) as found:
        yield found


def test_nodes_are_listed_the_worst_first_and_found_by_name(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/nodes") as (page, _):
        first = page.locator("tbody tr").first
        expect(first, "the cordoned one needs attention").to_contain_text("gpu-s1-l1-n2")
        expect(first, "a reason is text, whatever it says").to_contain_text(HOSTILE)
        expect(page.locator(".lead")).to_contain_text("22 nodes: 21 online, 1 cordoned.")
        page.get_by_label("Find by name").fill("hypervisor")
        expect(page.locator("tbody tr")).to_have_count(2)
        assert "search=hypervisor" in page.url
        page.get_by_label("Find by name").fill("nowhere")
        page.get_by_text("No node is like that").wait_for()
        page.get_by_role("button", name="Show all nodes").click()
        page.get_by_role("button", name="Node", exact=True).click()
        expect(page.locator("tbody tr").first).to_contain_text("cloud-1")
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert lines[0].startswith("name,health,tasks,cpu,memory,gpu,backend,labels")
        assert len(lines) == 23


def test_a_node_is_cordoned_and_let_go_with_a_reason(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/nodes?search=cloud-1") as (page, _):
        page.get_by_role("button", name="Cordon cloud-1").click()
        page.get_by_label("Reason").fill("new memory")
        page.get_by_role("button", name="Cordon", exact=True).click()
        page.get_by_text("cloud-1 takes no new work").wait_for()
        node = client.node("cloud-1")
        assert (node["cordoned"], node["reason"]) == (True, "new memory")
        page.get_by_role("button", name="Uncordon cloud-1").click()
        page.get_by_role("button", name="Uncordon", exact=True).click()
        page.get_by_role("button", name="Cordon cloud-1").wait_for()
        assert not client.node("cloud-1")["cordoned"]


def test_the_page_of_a_node_says_what_runs_there(chromium: Any, client: Client) -> None:
    [row] = client.tasks("notebook", namespace="research")
    with page_of(chromium, client, f"/node/{row['node']}") as (page, _):
        assert page.title() == f"{row['node']} · Dovetail"
        page.get_by_text("8 GPUs").wait_for()
        page.get_by_role("link", name="research/notebook").first.wait_for()
        page.get_by_role("tab", name="Events").click()
        page.locator("td", has_text="placed on").first.wait_for()
        page.get_by_role("tab", name="Diagnostics").click()
        page.get_by_text(f"Node: {row['node']}").wait_for()
        page.get_by_role("tab", name="Hardware").click()
        page.get_by_text("No agent has looked into this machine").wait_for()
        assert page.url.endswith("?tab=hardware"), "the address holds what is shown"


def test_the_use_of_a_node_is_drawn_over_time(chromium: Any, client: Client) -> None:
    [row] = [one for one in client.tasks("train", namespace="research") if one["replica"] == 0]
    node = row["node"] or ""

    def recorded() -> bool:
        found = client.trends(node=node)["series"]
        return all(any(found[name]["values"]) for name in ("cpu", "gpu", "gpu_observed"))

    wait_for(recorded, "the first sample")
    with page_of(chromium, client, f"/node/{node}") as (page, _):
        panel = page.get_by_role("region", name="Use over time")
        expect(panel.get_by_role("img", name="GPU over the last 1 h").locator("polyline")).to_have_count(2)
        expect(panel.get_by_text("observed", exact=True)).to_have_count(3)
        panel.get_by_role("button", name="7 d").click()
        expect(panel.get_by_role("img", name="Memory over the last 7 d").locator("polyline")).to_have_count(2)
        assert page.url.endswith("?range=7d"), "the address holds what is shown"
        expect(panel.get_by_text(f"dovetail trends --node {node} --since 7d")).to_be_visible()
    with page_of(chromium, client, "/node/cloud-3") as (page, _):
        panel = page.get_by_role("region", name="Use over time")
        expect(panel).to_contain_text("the machine does not measure its use")
        expect(panel.get_by_role("img", name="GPU")).to_have_count(0)


def test_labels_are_changed_and_refusals_are_told(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/node/cloud-2") as (page, faults):
        page.get_by_role("button", name="Labels…").click()
        page.get_by_label("Labels", exact=True).fill("disk=nvme\nowner=ada")
        page.get_by_label("Taints, KEY").fill("dedicated=db:NoSuchEffect")
        faults.allowed.append("422")
        page.get_by_role("button", name="Change").click()
        page.get_by_role("alert").wait_for()
        expect(page.get_by_role("alert")).to_contain_text("taints")
        page.get_by_label("Taints, KEY").fill("dedicated=db:NoSchedule")
        page.get_by_role("button", name="Change").click()
        page.get_by_text("owner=ada").wait_for()
        node = client.node("cloud-2")
        assert node["labels"] == {"disk": "nvme", "owner": "ada"}
        assert node["taints"] == ["dedicated=db:NoSchedule"]


def test_a_drained_node_gives_its_tasks_away(chromium: Any, client: Client) -> None:
    [row] = client.tasks("notebook", namespace="research")
    with page_of(chromium, client, f"/node/{row['node']}") as (page, _):
        page.get_by_role("button", name="Drain").click()
        page.get_by_role("button", name="Drain", exact=True).last.click()
        wait_for(lambda: client.tasks("notebook", namespace="research")[0]["node"] not in (row["node"], None))
        page.get_by_text("drained", exact=True).first.wait_for()
