"""What holds for every page that is registered: no error, no other host, no script of a stranger, for everybody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.web.scene import LARGE_FABRIC, addresses, scene
from tests.servers.browser import page_of

from dovetail.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing").expect
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]

AXE = Path(__file__).parents[3] / "tools" / "web" / "node_modules" / "axe-core" / "axe.min.js"
OPENED = (
    "/backends?name=dc1",
    "/policies?name=nvme-only",
    "/services?name=web",
    "/vms?name=legacy",
    "/network?level=leaf",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with scene(tmp_path_factory.mktemp("data")) as server, Client(server.url) as found:
        yield found


def paths(client: Client) -> list[str]:
    return [path for path in addresses(client).values() if path != "/login"] + list(OPENED)


def visit(page: Any, url: str) -> None:
    """Until everything is there."""
    page.goto(url)
    page.locator("#main[aria-busy=false] h1").first.wait_for()
    expect(page.locator("#main .skeleton")).to_have_count(0, timeout=30_000)


def test_every_page_shows_something_and_runs_no_script_of_a_stranger(chromium: Any, client: Client) -> None:
    _visit_all(chromium, client)


def test_every_page_shows_1250_nodes_with_eight_gpus_each(chromium: Any, tmp_path: Path) -> None:
    with scene(tmp_path, LARGE_FABRIC) as server, Client(server.url) as client:
        assert client.summary()["resources"]["gpu"]["capacity"] == 10_000
        _visit_all(chromium, client)
        with page_of(chromium, client, "/topology?colour=health") as (page, _):
            of = "[...document.querySelector('topology-map').what.model.nodes.values()]"
            assert page.evaluate(f"() => {of}.length") >= 1250
            client.cordon("gpu-s5-l5-n50", reason="a change that is seen")
            page.wait_for_function(f"() => {of}.find((node) => node.name === 'gpu-s5-l5-n50').health === 1")


def _visit_all(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/nodes") as (page, faults):
        for path in paths(client):
            visit(page, client.url + path)
            assert faults.found == [], path
            assert page.locator("img[src=x]").count() == 0, f"{path}: text became an element"
            assert page.get_by_text("could not be").count() == 0, f"{path}: {page.locator('#main').inner_text()[:500]}"
            assert len(page.locator("#main").inner_text()) > 40, f"{path} is empty"
            assert page.title() != "Dovetail · Dovetail", f"{path} has no title"


def test_every_page_fits_a_phone(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/nodes", width=390, height=844, dark=True) as (page, _):
        for path in paths(client):
            visit(page, client.url + path)
            wider = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
            assert wider <= 0, f"{path} is {wider} pixels too wide"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Any, client: Client, dark: bool) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing (npm: axe-core; make test-deps installs it)")
    found = []
    with page_of(chromium, client, "/nodes", dark=dark, script=str(AXE)) as (page, _):
        for path in [*paths(client), "/login"]:
            if path == "/login":
                page.goto(client.url + path)
                page.get_by_label("Or with a token").wait_for()
            else:
                visit(page, client.url + path)
            report = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
            found += [f"{path}: {words}" for words in serious(report)]
    assert not found, "\n".join(found)


def serious(report: Any) -> list[str]:
    """What axe holds for serious, with two places each."""
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]}"
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:2]
    ]
