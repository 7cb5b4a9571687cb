"""Routes read the engine through `plane.questions` only."""

import ast
from pathlib import Path

import dovetail.api

SOURCES = sorted(Path(dovetail.api.__file__).parent.rglob("*.py"))


def test_no_route_reaches_past_the_questions() -> None:
    reached = [
        f"{source.name}:{node.lineno}"
        for source in SOURCES
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("engine", "_engine", "_state")
    ]
    assert reached == []
