"""Only the engine touches its state; import-linter cannot see attributes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "dovetail"
MAY_TOUCH = re.compile(r"\.\s*_?state\b")  # modules without this need not be parsed


def touches(tree: ast.AST) -> Iterator[int]:
    """Lines that use `state` or `_state` of an engine, or `_state` of any other object than `self`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in ("_state", "state"):
            continue
        owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if owner.endswith("engine") or (node.attr == "_state" and owner != "self"):
            yield node.lineno


def test_no_module_outside_the_engine_touches_its_state() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] != "engine" and MAY_TOUCH.search(text := path.read_text())
        for line in touches(ast.parse(text))
    ]
    assert not found


@pytest.mark.parametrize(
    "line",
    ["engine._state.work", "self._engine.state = 1", "plane.engine._state", "Engine()._state", "questions._state"],
)
def test_the_check_sees_it(line: str) -> None:
    assert MAY_TOUCH.search(line)
    assert list(touches(ast.parse(line))) == [1]


@pytest.mark.parametrize("line", ["self._state.shape", "live.state", "from dovetail.engine.state import work"])
def test_the_check_leaves_other_states_alone(line: str) -> None:
    assert not list(touches(ast.parse(line)))
