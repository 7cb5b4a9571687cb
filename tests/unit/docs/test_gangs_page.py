"""The page about gangs: every example is placed as it stands, and its tables are the code's."""

import re
from pathlib import Path

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.gangs.gang_layout import NO_DOMAIN
from dovetail.engine.settings import EngineSettings
from dovetail.model.workloads.arrangement import Arrangement
from dovetail.model.workloads.reading import read_workloads
from dovetail.placement.filters.bandwidth import BandwidthFilter
from dovetail.placement.gangs.domain_features import FEATURES
from dovetail.placement.gangs.strategies import STRATEGIES

PAGE = (Path(__file__).parents[3] / "docs" / "gangs.md").read_text()
#: All workloads but the one that is too large on purpose.
EXAMPLES = re.findall(r"```yaml\n(?:# [\w.-]+\n)?(name: (?!too-many).*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_placed_by_the_engine_as_it_stands(text: str) -> None:
    workloads = read_workloads(text, "gangs.md")
    scene = Scene()
    for number in range(64):
        labels = {"zone": f"z{number // 32}", "spine": f"s{number // 32}", "leaf": f"l{number // 8}"}
        capacity = {"gpu": 8, "memory": "256GiB"}
        scene.join(f"n{number}", cpu=8, capacity=capacity, labels=labels | {"rack": f"r{number // 2}"})
    for workload in workloads:
        scene.submit(workload.name, **workload.model_dump(mode="json", exclude_unset=True, exclude={"name"}))
    scene.tick()
    for workload in workloads:
        assert scene.work(workload.name).holding == workload.replicas


def test_there_are_examples_of_every_field() -> None:
    layouts = [workload.topology for text in EXAMPLES for workload in read_workloads(text, "gangs.md")]
    for field in Arrangement.model_fields:
        assert any(getattr(layout, field, None) for layout in layouts), field
        assert f"| `{field}` |" in PAGE


def test_features_strategies_and_weights_are_those_of_the_code() -> None:
    for feature in FEATURES:
        assert f"| `{feature}` |" in PAGE
    for name, weights in STRATEGIES.items():
        (line,) = re.findall(rf"^\| `{name}` \| ((?:\w+ \d+(?:, )?)+) \|$", PAGE, re.MULTILINE)
        assert dict(pair.split() for pair in line.split(", ")) == {f: str(weight) for f, weight in weights.items()}


def test_reasons_and_settings_that_it_names_exist() -> None:
    assert f"`{NO_DOMAIN}`" in PAGE
    assert f"`{BandwidthFilter.reason}`" in PAGE
    assert f"`{BandwidthFilter.name}`" in PAGE
    for field in ("gang_strategy", "strategies"):
        assert field in EngineSettings.model_fields
        assert f"`{field}`" in PAGE
