"""The page about affinity: every example is a workload that is accepted, and every field and reason it names exists."""

import re
from pathlib import Path

import pytest
from tests.unit.engine.scene import Scene

from dovetail.model.workloads.reading import read_workloads
from dovetail.model.workloads.workload import Workload
from dovetail.placement.filters.workload_affinity import SpreadFilter, WorkloadAffinityFilter

PAGE = (Path(__file__).parents[3] / "docs" / "affinity.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_there_are_examples_of_every_field() -> None:
    workloads = [workload for text in EXAMPLES for workload in read_workloads(text, "affinity.md")]
    for field in ("affinity", "conflicts", "spread"):
        assert any(getattr(workload, field) for workload in workloads), field


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_one_workload_that_the_engine_takes_as_it_stands(text: str) -> None:
    (workload,) = read_workloads(text, "affinity.md")
    scene = Scene()
    for number in range(6):
        labels = {"region": f"g{number % 3}", "zone": f"z{number % 3}", "rack": f"r{number}"}
        scene.join(f"n{number}", labels=labels)
    scene.submit(workload.name, **workload.model_dump(mode="json", exclude_unset=True, exclude={"name"}))
    scene.tick()
    work = scene.work(workload.name)
    assert work.holding == workload.replicas or scene.why(workload.name)[0] == WorkloadAffinityFilter.reason


def test_fields_and_reasons_that_it_names_exist() -> None:
    assert WorkloadAffinityFilter.reason in PAGE
    assert SpreadFilter.reason in PAGE
    for field in ("affinity", "conflicts", "spread", "node_selector", "node_affinity", "constraints"):
        assert field in Workload.model_fields
        assert f"`{field}`" in PAGE
