"""Every block of README and the pages of `docs` is run in order against a real server; what they show is printed."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.e2e.docs.engines import ENGINES, Engine
from tests.e2e.docs.page import read_page
from tests.e2e.docs.runner import ROOT, PageRunner
from tests.open_folder import python_is_open

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "backends").glob("*.md"))]

pytestmark = pytest.mark.needs_server


def on_its_worker(page: Path) -> ParameterSet:
    group = page.stem if page.stem in ENGINES else "pages"
    return pytest.param(page, id=str(page.relative_to(ROOT).with_suffix("")), marks=pytest.mark.xdist_group(group))


def variables_of(page: Path) -> dict[str, str]:
    """Functions run in the Python of the tests, which the users of jobs may not be able to reach. Distances are told at
    once."""
    if page.stem == "network":
        return {"DOVETAIL_SUBSYSTEMS": json.dumps({"network": {"publish_every": "100ms"}})}
    if page.stem != "python" or python_is_open():
        return {}
    return {"DOVETAIL_BACKENDS": json.dumps({"local": {"kind": "local", "run_as": "server"}})}


@pytest.mark.parametrize("page", [on_its_worker(page) for page in PAGES])
def test_a_page_can_be_followed_literally(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    started = ENGINES[page.stem](request, tmp_path) if page.stem in ENGINES else nullcontext(Engine())
    with started as engine, PageRunner(tmp_path, engine, variables=variables_of(page)) as runner:
        for block in read_page(page, str(page.relative_to(ROOT))):
            runner.run(block)
