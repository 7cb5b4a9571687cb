"""Recipes of CONTRIBUTING that no example package runs as built-in parts, followed with the stated number of files."""

import asyncio
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import until
from tests.unit.placement.scene import cluster_of, request_for, scored

from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.control.subsystems import registry as subsystems
from dovetail.control.subsystems.declaration import SubsystemDeclaration
from dovetail.model.workloads.workload import Workload
from dovetail.placement import registry

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = (
    "filter",
    "score",
    "strategy",
    "backend",
    "route with its command",
    "subsystem",
    "page of the dashboard",
    "benchmark",
)

SCORE = '''
"""Prefers nodes whose name is short."""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.views.view import View
from dovetail.placement.contract import Request, Score


class ShortName(Score):
    name: ClassVar[str] = "short_name"

    def points(self, request: Request, view: View) -> F8 | float:
        return np.array([1.0 / len(view.name(i)) for i in range(view.size)])
'''

SUBSYSTEM = '''
"""Counts durable steps."""

from dovetail.control.subsystems.contract import DurableStep, Subsystem


class StepCount(Subsystem):
    steps = 0

    async def take(self, step: DurableStep) -> None:
        StepCount.steps += 1
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    monkeypatch.undo()
    registry.scores.cache_clear()
    for name in ("short_name", "step_count"):
        sys.modules.pop(name, None)


def test_every_recipe_names_a_test_or_an_example_that_runs_it() -> None:
    rows = dict(re.findall(r"^\| ([a-z ]+) \| .* \| (`(?:tests|examples)/.*`) \|$", PAGE, re.MULTILINE))
    assert tuple(rows) == RECIPES
    for recipe, cell in rows.items():
        assert f"\n## Add a {recipe}\n" in PAGE
        for path in re.findall(r"`([^`]+)`", cell):
            assert (ROOT / path).exists(), path


def test_a_score_is_one_file_and_one_line_in_the_registry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "short_name.py").write_text(SCORE)
    plugin = importlib.import_module("short_name").ShortName
    monkeypatch.setitem(registry.SCORES, plugin.name, plugin)  # the line
    registry.scores.cache_clear()
    cluster = cluster_of({"name": "ab"}, {"name": "abcd"})
    assert scored("short_name", cluster, request_for(cluster)) == [0.5, 0.25]


def test_a_subsystem_is_one_file_and_one_declaration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "step_count.py").write_text(SUBSYSTEM)
    declaration = SubsystemDeclaration("step_count", "step_count:StepCount")
    monkeypatch.setitem(subsystems.BUILT_IN, declaration.name, declaration)  # the line
    asyncio.run(_hears_a_step(folder / "data"))


async def _hears_a_step(data: Path) -> None:
    """A control plane whose settings name the subsystem builds it, starts it, and tells it what was written."""
    cluster = {"kind": "simulated", "groups": [{"count": 1, "prefix": "n", "capacity": {"cpu": 1}}]}
    fields = {"data": str(data), "backends": {"sim": cluster}, "logging": {"level": "error", "decisions": False}}
    plane = ControlPlane(Settings.model_validate({**fields, "subsystems": {"step_count": {}}}))
    await plane.start()
    try:
        await plane.submit([Workload(name="a")])
        count = importlib.import_module("step_count").StepCount
        await until(lambda: count.steps > 0, "the subsystem hears a step")
    finally:
        await plane.stop()
