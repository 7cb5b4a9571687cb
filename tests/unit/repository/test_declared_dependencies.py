"""Every package that src imports is declared in pyproject.toml, and every declared one is imported.

A package that only arrives because another one needs it vanishes when that other one changes its mind. Imports inside
functions and under TYPE_CHECKING count. The extra `dev` does not: users do not install it.
"""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[3]
NOT_IMPORTED = {"cel-python"}
"""Its grammar is read as a file (`constraints/syntax/parser.py`)."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *(wanted for extra, wanted in extras.items() if extra != "dev")]
    return {canonical(re.split(r"[<>=!~;\[ ]", line)[0]) for wanted in lists for line in wanted}


def imported() -> dict[str, str]:
    """Each distribution that src imports, and a file that does."""
    distributions = packages_distributions()
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for module in imports(ast.parse(path.read_text())):
            if module != "dovetail" and module not in sys.stdlib_module_names:
                for name in distributions.get(module, [module]):
                    found[canonical(name)] = str(path.relative_to(ROOT))
    return found


def imports(tree: ast.Module) -> set[str]:
    """The top-level packages that a module imports absolutely."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_every_imported_package_is_declared() -> None:
    missing = [f"{name}, imported by {path}" for name, path in sorted(imported().items()) if name not in declared()]
    assert not missing, "add to the dependencies or to an extra in pyproject.toml:\n" + "\n".join(missing)


def test_every_declared_package_is_imported() -> None:
    assert declared() - NOT_IMPORTED - imported().keys() == set()


def test_an_import_inside_a_function_counts_and_a_relative_one_does_not() -> None:
    text = "from . import a\nimport os.path\n\ndef f():\n    from starlette.responses import Response\n"
    assert imports(ast.parse(text)) == {"os", "starlette"}
