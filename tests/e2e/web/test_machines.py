"""The pages of backends, services, VMs and the network: what they show, and that their actions do what they say."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.web.scene import scene
from tests.patience import wait_for
from tests.servers.browser import page_of
from tests.servers.measured_nodes import measured_nodes, reported

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with scene(tmp_path_factory.mktemp("data")) as server, Client(server.url) as found:
        yield found


def test_a_backend_is_added_shown_and_removed(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/backends") as (page, faults):
        expect(page.locator(".lead")).to_have_text("4 backends, all in use.")
        page.get_by_role("button", name="Add…").click()
        page.get_by_label("Name", exact=True).fill("lab")
        page.get_by_label("Kind", exact=True).select_option("simulated")
        page.get_by_label("Settings, as YAML").fill("groups: nonsense")
        faults.allowed.append("422")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("groups")
        page.get_by_label("Settings, as YAML").fill("groups: [{prefix: lab, count: 2}]")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("dd", has_text="2 nodes")).to_be_visible()
        assert client.backend("lab")["nodes"] == 2
        expect(page.get_by_text("Who changed it")).to_be_visible()
        expect(page.locator("ul.plain li").first).to_contain_text("lab")
        page.get_by_role("button", name="Remove…").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        expect(page.get_by_text("lab is removed with 2 nodes")).to_be_visible()
        assert "lab" not in {row["name"] for row in client.backends()}


def test_a_service_is_scaled_restarted_and_taken_back(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/services") as (page, _):
        expect(page.get_by_role("img", name="3 of 3 ready")).to_be_visible()
        page.get_by_role("button", name="Scale web").click()
        page.get_by_label("Replicas", exact=True).fill("4")
        page.get_by_role("button", name="Scale", exact=True).last.click()
        expect(page.get_by_role("img", name="4 of 4 ready")).to_be_visible()
        assert client.service("web")["replicas"] == 4
        page.get_by_role("link", name="web", exact=True).click()
        expect(page.get_by_role("tab", name="Replicas 4")).to_be_visible()
        page.get_by_role("button", name="Restart web").first.click()
        page.get_by_role("button", name="Restart", exact=True).last.click()
        wait_for(lambda: client.service("web")["revision"] == 2, "a new revision")
        wait_for(lambda: client.service("web")["rollout"] == "complete", "the new revision runs")
        page.get_by_role("button", name="Undo").click()
        page.get_by_role("button", name="Take it back").click()
        wait_for(lambda: client.service("web")["revision"] != 2, "the revision before")
        page.get_by_role("tab", name="Revisions").click()
        expect(page.locator("td", has_text="current")).to_be_visible()


def test_a_vm_is_switched_copied_and_moved(chromium: Any, client: Client) -> None:
    [vm] = [row for row in client.vms() if row["workload"] == "machine"]
    with page_of(chromium, client, f"/vms?name={vm['name']}") as (page, _):
        expect(page.locator(".lead")).to_have_text("2 VMs, 1 made by others.")
        page.get_by_role("button", name="Snapshot…").click()
        page.get_by_label("Name", exact=True).fill("before")
        page.get_by_role("button", name="Take it").click()
        expect(page.locator("td", has_text="before")).to_be_visible()
        assert [one["name"] for one in client.vm_snapshots("machine")] == ["before"]
        page.get_by_role("button", name="Migrate…").click()
        page.get_by_role("button", name="Migrate", exact=True).click()
        wait_for(lambda: client.vm_migration("machine")["state"] == "done", "it has moved")
        expect(page.get_by_text("Last migration")).to_be_visible()
        other = next(row["node"] for row in client.vms() if row["workload"] == "machine")
        assert other != vm["node"]
        page.goto(f"{client.url}/vms?name={vm['name']}&node={other}")
        page.get_by_role("button", name="Shut down").click()
        page.get_by_role("button", name="Shut down").last.click()
        expect(page.get_by_role("button", name="Switch on")).to_be_visible()
        assert [row["power"] for row in client.vms() if row["workload"] == "machine"] == ["off"]
        page.get_by_role("link", name="legacy").click()
        page.get_by_role("button", name="Adopt…").click()
        page.get_by_role("button", name="Adopt", exact=True).click()

        def states() -> list[str]:
            return [row["state"] for row in client.workloads(name="legacy")["items"]]

        wait_for(lambda: states() == ["running"], "it is a workload")


def test_the_matrix_opens_to_nodes_and_to_one_pair(chromium: Any, client: Client) -> None:
    client.set_distances([("gpu-s1-l1-n1", "gpu-s1-l1-n2", 42.0)])
    with page_of(chromium, client, "/network?level=leaf") as (page, _):
        expect(page.locator(".matrix tbody tr")).to_have_count(4)
        page.get_by_role("button", name="s1-l1 – s1-l2").first.click()
        expect(page.get_by_role("region", name="Two domains")).to_contain_text("Nobody measured in that time.")
        page.get_by_role("button", name="Nodes of s1-l1").click()
        expect(page.get_by_role("heading", name="the nodes of leaf s1-l1")).to_be_visible()
        page.get_by_role("button", name="gpu-s1-l1-n1 – gpu-s1-l1-n2: 42, set by hand").click()
        expect(page.get_by_role("region", name="One pair")).to_contain_text("42 of 100, set by hand")
        assert "domain=s1-l1" in page.url
        assert "from=gpu-s1-l1-n1" in page.url
        page.get_by_role("button", name="rack", exact=True).click()
        expect(page.locator(".matrix tbody tr")).to_have_count(8)


def test_measured_latency_and_loss_are_drawn_over_time(chromium: Any, client: Client) -> None:
    leaves = {"near": ["probed-[1-3]"], "far": ["probed-[4-6]"]}
    with measured_nodes(client):
        client.set_topology({"levels": [{"name": "side"}], "domains": {"side": leaves}})
        client.report_probes("probed-1", reported([{"node": "probed-4", "sent": 4, "rtts_us": [900.0, 900.0]}], []))
        with page_of(chromium, client, "/network?level=side") as (page, _):
            page.get_by_role("button", name="far – near").first.click()
            panel = page.get_by_role("region", name="Two domains")
            expect(panel.get_by_role("img", name="Round trip between far and near").locator("polyline")).to_have_count(
                1
            )
            expect(panel.get_by_text("dovetail distance trends far near --level side --since 1h")).to_be_visible()
            panel.get_by_role("button", name="24 h").click()
            expect(panel.get_by_role("img", name="near over the last 24 h")).to_have_count(2)
            assert "between=far&and=near&range=24h" in page.url, "the address holds what is shown"
            expect(panel.get_by_role("button", name="7 d")).to_have_count(0)
            page.goto(f"{client.url}/network?from=probed-1&to=probed-4")
            one = page.get_by_role("region", name="One pair")
            expect(one.get_by_role("img", name="Packets lost between probed-1 and probed-4")).to_be_visible()
            page.goto(f"{client.url}/network?from=probed-1&to=cloud-1")
            expect(page.get_by_role("region", name="One pair")).to_contain_text("Nobody measured in that time.")
        client.forget_topology()
