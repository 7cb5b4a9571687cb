"""The page about GPUs: its node can be registered, its work runs there, and the reasons it names are those given."""

import re
from pathlib import Path

from tests.unit.engine.scene import Scene

from dovetail.model.node import Node
from dovetail.model.text.reading import read_as
from dovetail.model.workloads.reading import read_workloads
from dovetail.placement.filters.gpus import FreeGpusFilter, GpuModelFilter
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.placement.scores.gpus import GpuModelPreferenceScore

PAGE = (Path(__file__).parents[3] / "docs" / "gpus.md").read_text()
NODE, *WORK = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_work_of_the_page_runs_on_the_node_of_the_page() -> None:
    (node,) = read_as(Node, NODE, "gpus.md")
    scene = Scene()
    scene.join(node.name, **node.model_dump(mode="json", exclude={"name"}))
    for text in WORK:
        (workload,) = read_workloads(text, "gpus.md")
        scene.submit(workload.name, **workload.model_dump(mode="json", exclude_unset=True, exclude={"name"}))
    assert scene.tick() == ["train.0", "train.1", "notebook.0"]
    devices = {name: [live.devices for live in scene.work(name).tasks.values()] for name in ("train", "notebook")}
    assert devices == {"train": [(0, 1, 2, 3), (4, 5, 6, 7), ()], "notebook": [(8,)]}


def test_the_reasons_and_the_weight_are_as_it_says() -> None:
    for plugin in (GpuModelFilter, FreeGpusFilter):
        assert f"filter `{plugin.name}`, `{plugin.reason}`" in PAGE
    weight = BUILT_IN["gpu_topology"].scores[GpuModelPreferenceScore.name]
    assert f"`{GpuModelPreferenceScore.name}` with a weight of {weight:g}" in PAGE
