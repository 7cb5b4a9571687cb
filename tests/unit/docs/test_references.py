"""What the pages name exists: files, names in files, modules, and the targets of links."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "dovetail"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]

FILE = re.compile(r"`([\w./-]+\.(?:py|md|yaml|toml))(?::([\w.]+))?`")
NAME_IN_FILE = re.compile(r"`([A-Za-z_]\w*)(?:\([^`]*\))?`\s+(?:in|of|from|\()\s?`([\w/]+\.py)`")
MODULE = re.compile(r"`(dovetail(?:\.\w+){2,})`")
IMPORT = re.compile(r"^\s*from (dovetail[\w.]*) import ([\w, ]+)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")
#: A reader chooses these names: only the folder has to exist.
PLACEHOLDER = re.compile(r"\b(?:yours?\w*|NOUN)\b")


def find_file(page: Path, name: str) -> Path | None:
    """The file that a page means: relative to the repository, to the package or to the page itself. A file name alone
    means one below the page's own folder, or one of the top folder."""
    folders = [ROOT, SOURCE, page.parent] if "/" in name or page.parent == ROOT else [ROOT, page.parent]
    if found := next((folder / name for folder in folders if (folder / name).is_file()), None):
        return found
    if "/" not in name and page.parent != ROOT:
        return next(page.parent.rglob(name), None)
    return None


def is_place_for(name: str) -> bool:
    """Does the folder exist in which a reader would create this file?"""
    folder = PLACEHOLDER.split(name)[0].rpartition("/")[0]
    return bool(folder) and any((base / folder).is_dir() for base in (ROOT, SOURCE))


@cache
def names_in(file: Path) -> frozenset[str]:
    """Everything that the file defines or imports, members of classes included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
    return frozenset(found)


def has_module(dotted: str) -> bool:
    """Is it a module, or a name in one?"""
    path, _, name = dotted.removeprefix("dovetail").replace(".", "/").rpartition("/")
    for module, missing in ((SOURCE / f"{path}/{name}".lstrip("/"), ""), (SOURCE / path.lstrip("/"), name)):
        for file in (module.with_suffix(".py"), module / "__init__.py"):
            if file.is_file() and (not missing or missing in names_in(file)):
                return True
    return False


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_files(page: Path, text: str) -> Iterator[str]:
    for name, member in FILE.findall(text):
        if PLACEHOLDER.search(name):
            if not is_place_for(name):
                yield f"{name}: there is no such folder"
        elif (file := find_file(page, name)) is None:
            yield f"{name}: there is no such file"
        elif member and not set(member.split(".")) <= names_in(file):
            yield f"{name}: does not define {member}"
    for member, name in NAME_IN_FILE.findall(text):
        file = find_file(page, name)
        if file is not None and member not in names_in(file):
            yield f"{name}: does not define {member}"


def broken_modules(text: str) -> Iterator[str]:
    for dotted in MODULE.findall(text):
        if not has_module(dotted):
            yield f"{dotted}: there is no such module"
    for module, members in IMPORT.findall(text):
        for member in members.split(","):
            if not has_module(f"{module}.{member.strip()}"):
                yield f"{module}: does not define {member.strip()}"


def broken_links(page: Path, text: str) -> Iterator[str]:
    for target, anchor in LINK.findall(text):
        file = page.parent / target if target else page
        if not file.exists():
            yield f"{target}: there is no such file"
        elif anchor and anchor.removeprefix("#") not in anchors(file):
            yield f"{target}: has no heading {anchor}"


def broken(page: Path, text: str) -> list[str]:
    """References of the text, as if it stood on the page, to what does not exist."""
    return [*broken_files(page, text), *broken_modules(text), *broken_links(page, text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    assert broken(page, page.read_text()) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("`placement/no_such_module.py`", "placement/no_such_module.py: there is no such file"),
        ("`docs/no-such-page.md`", "docs/no-such-page.md: there is no such file"),
        ("`contract.py`", "contract.py: there is no such file"),
        ("`no_such_folder/yours.py`", "no_such_folder/yours.py: there is no such folder"),
        ("`placement/contract.py:NoSuchClass`", "placement/contract.py: does not define NoSuchClass"),
        ("`NO_FILTERS` in `placement/registry.py`", "placement/registry.py: does not define NO_FILTERS"),
        ("`NoFilter` (`placement/contract.py`)", "placement/contract.py: does not define NoFilter"),
        ("`dovetail.placement.standing`", "dovetail.placement.standing: there is no such module"),
        ("from dovetail.testing.conformance import Nothing", "dovetail.testing.conformance: does not define Nothing"),
        ("[gangs](no-gangs.md)", "no-gangs.md: there is no such file"),
        ("[gangs](gangs.md#no-heading)", "gangs.md: has no heading #no-heading"),
    ],
)
def test_a_reference_to_what_does_not_exist_is_reported(text: str, complaint: str) -> None:
    assert broken(ROOT / "docs" / "gangs.md", text) == [complaint]


@pytest.mark.parametrize(
    "text",
    [
        "`placement/contract.py:Filter`",
        "`placement/contract.py:Filter.applies`",
        "`Filter` (`placement/contract.py`)",
        "`src/dovetail/placement/filters/your_filter.py`",
        "`dovetail.backends.contract.Backend`",
        "from dovetail.testing.conformance import BackendConformance, Subject",
        "[strategies](gangs.md#strategies)",
    ],
)
def test_a_reference_to_what_exists_is_not(text: str) -> None:
    assert broken(ROOT / "docs" / "gangs.md", text) == []
