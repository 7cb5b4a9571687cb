"""The pages of rules and planning: policies, profiles, reservations, cost, what-if, access."""

from collections.abc import Iterator
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


def test_a_policy_is_read_attached_and_changed(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/policies?name=nvme-only") as (page, faults):
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
        expect(page.get_by_text("Applies to namespace db-*; 1 unfinished workload.")).to_be_visible()
        page.get_by_role("button", name="Attach…").click()
        page.get_by_label("Names").fill("research")
        page.get_by_role("button", name="Attach", exact=True).click()
        expect(page.get_by_role("tab", name="Violations 5")).to_be_visible()
        assert client.policy("nvme-only")["applies_to"]["namespaces"] == ["db-*", "research"]
        page.get_by_role("tab", name="Violations 5").click()
        expect(page.locator("td", has_text="label disk is missing").first).to_be_visible()
        page.get_by_role("button", name="Change…").click()
        page.get_by_label("Definition").fill("name: nvme-only\nrequire: node.nonsense ==\n")
        faults.allowed.append("422")
        page.get_by_role("button", name="Change", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("require")
        page.get_by_label("Definition").fill('name: nvme-only\nprefer: node.labels.disk == "nvme"\n')
        page.get_by_role("button", name="Change", exact=True).click()
        expect(page.get_by_role("tab", name="Versions 3")).to_be_visible()
        assert client.policy("nvme-only")["version"] == 3


def test_an_expression_is_checked_while_it_is_typed(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/policies") as (page, _):
        field = page.get_by_label("About a node")
        field.fill('node.labels.disk == "nvme"')
        expect(page.get_by_text("4 of 22 nodes")).to_be_visible()
        field.fill("node.labels.disk ==")
        expect(page.locator("expression-check .bad")).to_be_visible()


def test_a_profile_is_previewed_on_recent_decisions(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/profiles") as (page, _):
        expect(page.locator("#profile-auto .tag").first).to_have_text("default")
        page.get_by_role("button", name="Preview least_loaded").click()
        told = page.get_by_role("region", name="Preview of least_loaded")
        answer = client.preview_profile("least_loaded")
        expect(told.get_by_text(answer["sentences"][0])).to_be_visible(timeout=30_000)
        assert "preview=least_loaded" in page.url


def test_capacity_is_reserved_and_released(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/reservations") as (page, faults):
        expect(page.locator(".gantt-row")).to_have_count(3)
        page.get_by_role("button", name="Reserve…").click()
        page.get_by_label("Nodes, divided").fill("cloud-3")
        page.get_by_label("How much").fill("cpu: 400")
        page.get_by_label("Tenant: the namespace").fill("serving")
        faults.allowed.append("409")
        page.get_by_role("button", name="Reserve", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("cloud-3")
        page.get_by_label("How much").fill("cpu: 4, memory: 8GiB")
        page.get_by_role("button", name="Reserve", exact=True).click()
        expect(page.locator(".gantt-row")).to_have_count(4)
        made = client.reservations()[-1]
        assert (made["node"], made["tenant"], made["resources"]["cpu"]) == ("cloud-3", "serving", "4")
        page.get_by_role("button", name=f"Release reservation {made['id']}").click()
        page.get_by_role("button", name="Release", exact=True).last.click()
        expect(page.locator(".gantt-row")).to_have_count(3)
        assert made["id"] not in {row["id"] for row in client.reservations()}


def test_costs_are_told_by_whom_and_against_budgets(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/cost") as (page, _):
        expect(page.get_by_text("At the end of the month")).to_be_visible()
        expect(page.get_by_role("table", name="Cost by namespace").get_by_role("link", name="db-1")).to_be_visible()
        page.get_by_role("button", name="Backend", exact=True).click()
        expect(page.get_by_role("table", name="Cost by backend").get_by_role("link", name="cloud")).to_be_visible()
        page.get_by_role("button", name="Set a budget…").click()
        page.get_by_label("Namespace").fill("research")
        page.get_by_label("Amount in a month").fill("250")
        page.get_by_role("button", name="Set", exact=True).click()
        page.get_by_role("button", name="Remove the budget of research").wait_for()
        [budget] = [row for row in client.budgets() if row["namespace"] == "research"]
        assert (budget["amount"], budget["on_limit"]) == (250.0, "warn")
        page.get_by_role("button", name="Remove the budget of research").click()
        page.get_by_role("button", name="Remove", exact=True).last.click()
        wait_for(lambda: all(row["namespace"] != "research" for row in client.budgets()), "it has none")


def test_two_futures_stand_side_by_side(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/what-if") as (page, faults):
        page.get_by_role("button", name="What if?").click()
        expect(page.get_by_role("alert")).to_contain_text("Nothing is changed yet")
        page.get_by_label("Remove nodes").fill("nowhere")
        faults.allowed.append("422")
        page.get_by_role("button", name="What if?").click()
        expect(page.get_by_role("alert")).to_contain_text("there is no node 'nowhere'")
        page.get_by_label("Remove nodes").fill("")
        page.get_by_label("A workload, new or edited").fill("name: more\nresources: {cpu: 9999}\n")
        page.get_by_role("button", name="What if?").click()
        expect(page.get_by_role("heading", name="The answer")).to_be_visible(timeout=30_000)
        expect(page.get_by_role("table", name="Would find no node")).to_contain_text("more")
        assert "workload=name" in page.url
        page.reload()
        expect(page.get_by_role("table", name="Would find no node")).to_contain_text("more", timeout=30_000)
        assert "more" not in {row["name"] for row in client.workloads()["items"]}, "nothing is changed"


def test_open_sessions_are_seen_and_one_is_ended(chromium: Any, client: Client) -> None:
    with (
        page_of(chromium, client, "/access") as (other, faults),
        page_of(chromium, client, "/access") as (page, _),
    ):
        own, theirs = client.browser_sessions()[-1]["id"], client.browser_sessions()[-2]["id"]
        rows = page.get_by_role("table", name="Sessions").locator("tbody tr")
        mine = rows.filter(has_text="this one")
        expect(mine).to_contain_text(str(own))
        expect(mine).to_contain_text("Chrome on Linux")
        assert all(cookie["value"] not in page.content() for cookie in page.context.cookies())
        page.get_by_role("button", name=f"End session {theirs}").click()
        page.get_by_role("button", name="End it").click()
        expect(page.get_by_role("button", name=f"End session {theirs}")).to_have_count(0)
        assert theirs not in [row["id"] for row in client.browser_sessions()]
        faults.allowed.append("401")
        other.reload()
        other.wait_for_url("**/login**")


def test_tokens_are_made_told_once_and_revoked(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/access") as (page, _):
        page.get_by_role("button", name="Make one…").click()
        page.get_by_label("For so many machines").fill("3")
        page.get_by_role("button", name="Make it").click()
        told = page.get_by_role("alert")
        expect(told).to_contain_text("for 3 machines")
        token = page.locator(".token").inner_text()
        [row] = client.join_tokens()
        assert row["uses_left"] == 3
        with Client(client.url, token=token) as joining:
            joining.register_node({"name": "newcomer", "capacity": {"cpu": 1}})
        page.get_by_role("button", name="I have it").click()
        expect(told).to_have_count(0)
        page.get_by_role("button", name=f"Revoke join token {row['id']}").click()
        page.get_by_role("button", name="Revoke", exact=True).last.click()
        expect(page.get_by_text("No machine can join now")).to_be_visible()
        assert client.join_tokens() == []
