"""Every package that src imports is declared in pyproject.toml, and every declared one is imported.

A package that only arrives because another one needs it vanishes when that other one changes its mind. Imports inside
functions and under TYPE_CHECKING count. The extra `dev` does not: users do not install it.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import files, packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NOT_IMPORTED = {"cel-python"}
"""Its grammar is read as a file (`constraints/syntax/parser.py`)."""
NAMED_OTHERWISE = {"libvirt": "libvirt-python"}
"""Distributions that may not be installed here: this one is compiled for the libvirt of the machine."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *(wanted for extra, wanted in extras.items() if extra != "dev")]
    return {canonical(re.split(r"[<>=!~;\[ ]", line)[0]) for wanted in lists for line in wanted}


@pytest.fixture(scope="module")
def imported() -> dict[str, str]:
    """Each distribution that src imports, and a file that does."""
    distributions = packages_distributions()
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for module in imports(ast.parse(path.read_text())):
            top = module.partition(".")[0]
            if top != "dovetail" and top not in sys.stdlib_module_names:
                for name in owners(module, distributions.get(top, [NAMED_OTHERWISE.get(top, top)])):
                    found[canonical(name)] = str(path.relative_to(ROOT))
    return found


def owners(module: str, candidates: list[str]) -> list[str]:
    """Several distributions may put their modules into one package, such as `azure`: those that have this module."""
    if len(candidates) == 1:
        return candidates
    path = module.replace(".", "/")
    return [
        name
        for name in candidates
        if any(str(one) in (f"{path}.py", f"{path}/__init__.py") for one in files(name) or [])
    ]


def imports(tree: ast.Module) -> set[str]:
    """The modules that a module imports absolutely; names that it imports from one may be modules, too."""
    found = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All that are inside, and no expressions: those are most of a module, and import nothing."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


def test_every_imported_package_is_declared(imported: dict[str, str]) -> None:
    missing = [f"{name}, imported by {path}" for name, path in sorted(imported.items()) if name not in declared()]
    assert not missing, "add to the dependencies or to an extra in pyproject.toml:\n" + "\n".join(missing)


def test_every_declared_package_is_imported(imported: dict[str, str]) -> None:
    assert declared() - NOT_IMPORTED - imported.keys() == set()


def test_an_import_inside_a_function_counts_and_a_relative_one_does_not() -> None:
    text = "from . import a\nimport os.path\n\ndef f():\n    from starlette.responses import Response\n"
    assert imports(ast.parse(text)) == {"os.path", "starlette.responses", "starlette.responses.Response"}
