"""Ctrl-K finds pages, actions, workloads by a part of the name or by id, nodes and queues, with keys alone."""

import re
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
OTHER_PAGES = ["Failed to load resource"]  # of pages that are not this test's


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    group = {"prefix": "blade", "count": 12, "capacity": {"cpu": 8, "memory": "32GB"}}
    settings = {"backends": {"sim": {"kind": "simulated", "forever": True, "groups": [group]}}}
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as server, Client(server.url) as found:
        wait_for(lambda: len(found.nodes()) == 12)
        found.submit([{"name": "nightly-train-7", "namespace": "research"}, {"name": "report"}])
        yield found


def found(page: Any, text: str) -> Any:
    """The hits for a text, once they are there."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(text)
    page.locator(".found[aria-busy=false]").wait_for()
    return page.get_by_role("option")


def test_things_are_found_by_a_part_of_their_names(chromium: Any, client: Client) -> None:
    with page_of(chromium, client) as (page, faults):
        faults.allowed += OTHER_PAGES
        hits = found(page, "train")
        assert hits.first.inner_text().split("\n")[0] == "research/nightly-train-7"
        page.keyboard.press("Enter")
        page.wait_for_url("**/workload/research/nightly-train-7")
        assert "blade-11" in found(page, "ade-11").first.inner_text()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        id_ = client.workload("report")["id"]
        assert found(page, str(id_)).first.inner_text().startswith("report")
        page.keyboard.press("Escape")
        hits = found(page, "default")
        assert "queue" in " ".join(hits.all_inner_texts())
        page.keyboard.press("Escape")
        found(page, HOSTILE)
        expect(page.get_by_text("Nothing has that in its name.")).to_be_visible()


def test_pages_and_actions_are_chosen_with_arrows_and_come_again(chromium: Any, client: Client) -> None:
    with page_of(chromium, client) as (page, faults):
        faults.allowed += OTHER_PAGES
        page.keyboard.press("Control+k")
        page.keyboard.press("ArrowUp")
        expect(page.locator("[aria-selected=true]")).to_have_text(re.compile(r"^What failed\?"))
        page.keyboard.press("ArrowDown")
        expect(page.locator("[aria-selected=true]")).to_have_text(re.compile("^Overview"))
        page.keyboard.press("Escape")
        texts = found(page, "why").all_inner_texts()
        assert any("Why is a workload not on a node?" in text for text in texts)
        page.keyboard.press("Escape")
        found(page, "blade-10").first.wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url("**/node/blade-10")
        page.keyboard.press("Control+k")
        expect(page.get_by_role("option").first).to_contain_text("blade-10")
        expect(page.get_by_role("option").first).to_contain_text("recent node")
