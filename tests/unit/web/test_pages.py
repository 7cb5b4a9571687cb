"""The files of the dashboard fit together: every page has its module, modules import what is there, types are fresh."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.web.assets import FOLDER, load_assets
from dovetail.web.page_table import PAGES, page_at

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / "tools/web"
MOST_BYTES = 300_000
#: Modules are plain JavaScript: what could run text as a script is not in them.
FORBIDDEN = re.compile(r"(?:inner|outer|Adjacent|unsafe)HTML|document\.write|\beval\(|new Function| style=\"")


def own_modules() -> list[Path]:
    return [path for path in FOLDER.rglob("*.js") if "vendor" not in path.parts]


def imports_of(module: Path) -> set[Path]:
    """The modules that it imports when it is loaded, and those that they import."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        text = path.read_text()
        names = re.findall(r"""(?:^import|^export|\bfrom)[^"';`]*["'](\.[^"']+\.js)["']""", text, re.MULTILINE)
        waiting += [(path.parent / name).resolve() for name in names]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_a_page_has_its_module_and_loads_little(page: object) -> None:
    module = FOLDER / "pages" / page.module  # type: ignore[attr-defined]
    loaded = imports_of(module) | imports_of(FOLDER / "app.js")
    assert all(path.exists() for path in loaded)
    styles = sum(path.stat().st_size for path in FOLDER.rglob("*.css"))
    assert sum(path.stat().st_size for path in loaded) + styles < MOST_BYTES


def test_every_module_of_a_page_is_in_the_table() -> None:
    assert {path.name for path in (FOLDER / "pages").glob("*.js")} == {page.module for page in PAGES}


@pytest.mark.parametrize("module", own_modules(), ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_module_makes_no_script_of_text(module: Path) -> None:
    assert FORBIDDEN.findall(module.read_text()) == []


def test_addresses_of_pages() -> None:
    shown = {path: page.module for path in ("/", "/workload/a/b", "/nodes") if (page := page_at(path))}
    assert shown == {"/": "overview.js", "/workload/a/b": "workload.js", "/nodes": "nodes.js"}
    assert page_at("/api/v1/nodes") is None
    assert page_at("//nodes") is None


def test_a_change_of_a_file_changes_all_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(style: str) -> str:
        (tmp_path / "index.html").write_text("{DIGEST}")
        (tmp_path / "a.css").write_text(style)
        monkeypatch.setattr("dovetail.web.assets.FOLDER", tmp_path)
        return load_assets.__wrapped__().digest

    assert digest("a {}") == digest("a {}")
    assert digest("a {}") != digest("b {}")


def test_the_types_are_those_of_the_api() -> None:
    if not (TOOLS / "node_modules").exists():
        pytest.skip("the packages of tools/web are missing (Debian: npm; make test-deps installs them)")
    code = "import json, schema_types; print(json.dumps(schema_types.written()))"
    made = subprocess.run([sys.executable, "-c", code], cwd=TOOLS, check=True, capture_output=True, text=True)
    assert json.loads(made.stdout) == (FOLDER / "types.d.ts").read_text(), "stale; run make web-types"
