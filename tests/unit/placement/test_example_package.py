"""The example package does what its README says, found through the entry points of its own pyproject.toml."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.unit.engine.scene import Scene
from tests.unit.placement.conftest import Offer
from tests.unit.placement.scene import choose, cluster_of, occupy, request_for, scored

from dovetail.control.settings import Settings, load_settings
from dovetail.engine.pieces import whole
from dovetail.engine.suggestions.suggestions import impasse
from dovetail.model.plugin_loading import PluginError
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.pipeline import Pipeline
from dovetail.placement.pipeline.refusal import refusals
from dovetail.placement.registry import build_filter, build_hook, build_score, build_strategy

EXAMPLE = Path(__file__).parents[3] / "examples" / "dovetail-rack-spread"


@pytest.fixture(autouse=True)
def _installed(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `pip install` would leave it, for the length of a test."""
    project: dict[str, Any] = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))
    offer(project["name"], project["entry-points"])


def settings() -> Settings:
    return load_settings(EXAMPLE / "dovetail.yaml", {})


def test_its_settings_file_is_valid_and_its_profile_decides_with_its_plugins() -> None:
    cluster = cluster_of({"labels": {"rack": "r1"}}, {"labels": {"rack": "r7"}}, {"labels": {"rack": "r8"}}, {})
    occupy(cluster, 1)
    chosen = settings().scheduling
    pipeline = Pipeline("quiet", chosen.profiles[chosen.default_profile], cluster)
    request = request_for(cluster, resources={"cpu": "10m"})
    choice = choose(pipeline, cluster, request, 0)
    assert choice.row == 2, "a quiet rack, and the emptier of the two"
    assert dict(choice.explanation.weights)["quiet_rack"] == 50
    assert "max_tasks_per_node" in [step.filter for step in choice.explanation.funnel]
    assert choice.explanation.notes == ()
    kept = [choose(pipeline, cluster, request, i, repeats=True) for i in range(1, 15)]
    assert {one.row for one in kept} <= {1, 2}


def test_the_score_prefers_quiet_racks_and_there_the_nodes_that_run_few_tasks() -> None:
    cluster = cluster_of({"labels": {"rack": "r7"}}, {"labels": {"rack": "r7"}}, {"labels": {"rack": "r1"}})
    occupy(cluster, 0)
    assert scored("quiet_rack", cluster, request_for(cluster), quiet=["r7"]) == pytest.approx([0.95, 1.0, 0.0])
    assert scored("quiet_rack", cluster, request_for(cluster), quiet=["r9"]) == [0.0] * 3


def test_the_filter_refuses_full_nodes_and_says_that_eviction_would_help() -> None:
    cluster = cluster_of({}, {})
    occupy(cluster, 0)
    profile = settings().scheduling.profiles["quiet"]
    profile = profile.model_copy(update={"settings": {**profile.settings, "max_tasks_per_node": {"most": 1}}})
    pipeline = Pipeline("quiet", profile, cluster)
    request = request_for(cluster)
    (refused,) = refusals(request, pipeline.evaluator, cluster, 0)
    assert (refused.reason, refused.message) == ("too_many_tasks", "runs 1 tasks and may run 1")
    assert choose(pipeline, cluster, request, 0).row == 1
    assert choose(pipeline, cluster, request, 1).explanation.outcome == "too_many_tasks"


def test_urgent_work_displaces_other_work_on_nodes_that_the_filter_calls_full() -> None:
    profile = settings().scheduling.profiles["quiet"].model_dump()
    profile["settings"]["max_tasks_per_node"] = {"most": 1}
    scene = Scene(profiles={"quiet": profile}, default_profile="quiet")
    scene.join("n1")
    scene.run("low", priority="batch")
    spec = {"name": "urgent", "resources": {"cpu": 1}, "priority": "critical"}
    stuck = whole(impasse(scene.engine._state, Workload.model_validate(spec), None, scene.now))
    assert [one.requirement for one in stuck.core] == ["fewer than 1 tasks on the node"]
    scene.submit("urgent", priority="critical")
    scene.tick()
    assert scene.stopping() == ["low.0"]
    scene.stopped()
    scene.tick()
    assert scene.on("urgent") == ["n1"]


def test_its_typed_settings_are_checked_at_start() -> None:
    with pytest.raises(PluginError, match="settings of filter 'max_tasks_per_node': most: "):
        build_filter("max_tasks_per_node", {"most": 0})
    with pytest.raises(PluginError, match="settings of score 'quiet_rack': quiet: "):
        build_score("quiet_rack", {})
    with pytest.raises(PluginError, match="settings of strategy 'settled_domain': values: "):
        build_strategy("settled_domain", {"values": []})


def test_the_strategy_keeps_gangs_away_from_domains_that_are_marked() -> None:
    scene = Scene(**settings().scheduling.model_dump(include={"gang_strategy", "strategies"}))
    for rack, nodes, marks in (("a", 2, 1), ("b", 3, 0), ("c", 2, 0)):
        for number in range(nodes):
            marked = {"maintenance": "urgent"} if number < marks else {}
            scene.join(f"{rack}{number}", cpu=1, labels={"rack": rack} | marked)
    scene.run("g", replicas=2, gang={"min": 2}, topology={"required": "rack"})
    assert scene.on("g") == ["c0", "c1"], "no mark, and nothing left over"
    notes = scene.decisions[-1].explanation.notes
    assert "strategy settled_domain: rack c has 1.01 points, rack b 1.01 points" in notes
    scene.run("h", replicas=2, gang={"min": 2}, topology={"required": "rack"})
    assert scene.on("h") == ["b0", "b1"]


def test_the_hook_appends_a_line_for_each_task(tmp_path: Path) -> None:
    hook = build_hook("placement_journal", {"path": str(tmp_path / "journal.jsonl")})
    cluster = cluster_of({}, {})
    pipeline = Pipeline("quiet", settings().scheduling.profiles["quiet"], cluster)
    for i in range(2):
        choice = choose(pipeline, cluster, request_for(cluster), i)
        assert choice.row is not None
        hook.on_scheduled(f"1.{i}", "train", cluster.names[choice.row], choice.explanation.to_dict())
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [(line["task"], line["workload"], line["node"]) for line in lines] == [
        ("1.0", "train", "n0"),
        ("1.1", "train", "n1"),
    ]
    assert lines[0]["margin"] == 0.0
