"""Every block of README and the pages of `docs` is run in order against a real server; what they show is printed."""

from pathlib import Path

import pytest
from tests.e2e.docs.page import read_page
from tests.e2e.docs.runner import ROOT, PageRunner

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("pages")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_followed_literally(page: Path, tmp_path: Path) -> None:
    with PageRunner(tmp_path) as runner:
        for block in read_page(page, str(page.relative_to(ROOT))):
            runner.run(block)
