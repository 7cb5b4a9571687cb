"""The tree of queues with what each holds and borrows, and who waits in it."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.browser import page_of

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    group = {"prefix": "n", "count": 2, "capacity": {"cpu": 8, "memory": "32GB"}}
    queues = {
        "research": {"weight": 3, "guaranteed": {"cpu": 4}, "queues": {"nlp": {}, "vision": {"maximum": {"cpu": 8}}}},
        "ops": {"guaranteed": {"cpu": 8}},
    }
    settings = {
        "backends": {"sim": {"kind": "simulated", "forever": True, "groups": [group]}},
        "scheduling": {"queues": queues, "fair": {"half_life": "1h"}},
    }
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as server, Client(server.url) as found:
        found.submit([{"name": f"v-{one}", "queue": "research/vision", "resources": {"cpu": 2}} for one in range(6)])
        found.submit({"name": "other", "queue": "ops", "resources": {"cpu": 20}})
        wait_for(lambda: len(found.workloads(state="running")["items"]) == 4)
        yield found


def test_the_tree_shows_what_is_held_and_borrowed(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/queues") as (page, _):
        tree = page.get_by_role("region", name="The tree of queues")
        assert [name.strip("└ ") for name in tree.locator("tbody th").all_inner_texts()] == [
            row["name"] for row in client.queues()["queues"]
        ]
        vision = tree.get_by_role("row", name="vision").inner_text()
        assert "0 + 8 borrowed, max 8" in vision
        assert tree.get_by_role("img", name="ops: cpu 0 of 8").count() == 1
        assert "with what it held before" in str(tree.get_by_role("row", name="vision").inner_html())


def test_who_waits_can_be_narrowed_to_a_queue(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/queues", width=390, dark=True) as (page, _):
        waiting = page.get_by_role("region", name="Who waits")
        waiting.get_by_role("link", name="other").wait_for()
        page.get_by_role("button", name="research").click()
        waiting.get_by_role("link", name="other").wait_for(state="detached")
        assert "queue=research" in page.url
        names = {row["name"] for row in client.queue() if row["queue"].startswith("research")}
        assert set(waiting.locator("tbody td:nth-child(2)").all_inner_texts()) == names
        assert len(names) == 2
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        client.cancel(min(names))
        page.get_by_text("1 row", exact=True).wait_for()  # without asking again
