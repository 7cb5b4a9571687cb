"""A filter of another package takes part in preemption, waking, explanations and suggestions like a built-in one."""

import importlib
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.unit.engine.scene import Scene
from tests.unit.placement.conftest import Offer
from tests.unit.placement.scene import cluster_of, occupy, pipeline_of, request_for

from dovetail.cluster.change_log import RESOURCES
from dovetail.cluster.placements import VictimInfo
from dovetail.cluster.views.view import View
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.suggestions.suggestions import Impasse, impasse
from dovetail.model.reason import Eviction, Outcome, Refused
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.placement import registry
from dovetail.placement.contract import (
    ANYTHING,
    OWN_NODE,
    EvictionHelps,
    Filter,
    FilterStage,
    Request,
    WakeSignals,
)
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.profiles import BUILT_IN, ProfileSettings
from dovetail.placement.preemption.nominate import nominate
from dovetail.placement.preemption.victim_table import VictimTable

HERE = "tests.unit.placement.test_other_filters"


class AloneOnNode(Filter):
    """Only nodes that run nothing, which eviction can achieve."""

    name: ClassVar[str] = "alone_on_node"
    reason: ClassVar[str] = "not_alone"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    stage: ClassVar[FilterStage] = FilterStage.CAPACITY
    eviction_helps: ClassVar[EvictionHelps] = EvictionHelps.BY_TRIAL
    wakes_on: ClassVar[WakeSignals] = OWN_NODE

    def mask(self, request: Request, view: View) -> Any:
        return _running(view) == 0

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        message = f"runs {_running(view)[position]:g} tasks"
        return Refused(self.name, self.reason, message, Eviction.HELPS)

    def requirement(self, request: Request) -> str:
        return "an empty node"


class NeverMind(AloneOnNode):
    """The same, but it says nothing of evictions."""

    name: ClassVar[str] = "never_mind"
    eviction_helps: ClassVar[EvictionHelps] = EvictionHelps.NEVER


class NeedsCompany(Filter):
    """Only nodes that run something. Declares nothing beside its name and reason."""

    name: ClassVar[str] = "needs_company"
    reason: ClassVar[str] = "lonely"

    def mask(self, request: Request, view: View) -> Any:
        return _running(view) > 0

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        return Refused(self.name, self.reason, "runs nothing")


class SaysOwnNode(NeedsCompany):
    """Declares, wrongly, that a task that is placed cannot make it accept a node."""

    name: ClassVar[str] = "says_own_node"
    wakes_on: ClassVar[WakeSignals] = OWN_NODE


class FailsEverywhere(AloneOnNode):
    """Fails at everything that is asked of it beside the decision."""

    name: ClassVar[str] = "fails_everywhere"

    def reads_of(self, request: Request) -> frozenset[str]:
        raise OSError("reads_of")

    def wake_signals(self, request: Request) -> WakeSignals:
        raise OSError("wake_signals")

    def requirement(self, request: Request) -> str:
        raise OSError("requirement")

    def summarise(self, request: Request, view: View, candidates: Any) -> Any:
        raise OSError("summarise")


def _running(view: View) -> Any:
    slots = view.allocated("slots")
    assert slots is not None
    return slots


OFFERED = (AloneOnNode, NeverMind, NeedsCompany, SaysOwnNode, FailsEverywhere)


@pytest.fixture(autouse=True)
def _offered(offer: Offer) -> None:
    offer("other", {"dovetail.filters": {plugin.name: f"{HERE}:{plugin.__name__}" for plugin in OFFERED}})


def scene_with(*filters: str) -> Scene:
    """Workloads with `profile: picky` are placed with these filters too."""
    return Scene(profiles={"picky": {"filters": list(filters), "scores": {"best_fit": 1}}})


def stuck(scene: Scene, **fields: Any) -> Impasse:
    spec = {"name": "waits", "resources": {"cpu": 1}, "profile": "picky"} | fields
    scene.submit("waits", **{key: value for key, value in spec.items() if key not in ("name", "resources")})
    scene.tick()
    return whole(impasse(scene.engine._state, Workload.model_validate(spec), scene.work("waits"), scene.now))


# --- preemption ------------------------------------------------------------------------------------------------


def test_urgent_work_displaces_what_only_the_filter_has_against_the_node() -> None:
    scene = scene_with("alone_on_node")
    scene.join("n1")
    scene.join("n2")
    scene.run("young", priority="batch")
    scene.tick(100)
    scene.run("old", priority="low")
    scene.submit("urgent", priority="critical", profile="picky")
    scene.tick()
    assert scene.why("urgent")[0] == Outcome.PREEMPTING
    assert scene.stopping() == ["young.0"], "the least urgent gives way, though there is enough of every amount"
    scene.stopped()
    scene.tick()
    assert scene.on("urgent") == ["n1"]


def test_everybody_goes_who_has_to_and_nobody_else() -> None:
    scene = scene_with("alone_on_node")
    scene.join("n1")
    scene.run("some", priority="batch", replicas=3)
    scene.join("n2", labels={"pool": "other"})
    scene.run("others", priority="batch", replicas=2, node_selector={"pool": "other"})
    scene.submit("urgent", priority="critical", profile="picky")
    scene.tick()
    assert scene.stopping() == ["others.0", "others.1"], "two victims are cheaper than three"


def test_nobody_gives_way_to_work_that_is_no_more_urgent() -> None:
    scene = scene_with("alone_on_node")
    scene.join("n1")
    scene.run("first", priority="high")
    scene.submit("second", priority="high", profile="picky")
    scene.tick()
    assert scene.why("second")[0] == "not_alone"
    assert scene.stopping() == []


def test_nobody_gives_way_where_the_filter_does_not_say_that_it_helps() -> None:
    scene = scene_with("never_mind")
    scene.join("n1")
    scene.run("low", priority="batch")
    scene.submit("urgent", priority="critical", profile="picky")
    scene.tick()
    assert scene.why("urgent")[0] == "not_alone"
    assert scene.stopping() == []


def test_a_pod_displaces_others_as_kubernetes_does_it_for_any_such_filter() -> None:
    cluster = cluster_of({}, {})
    column = request_for(cluster, resources={"cpu": 1}).column
    for row, priority in enumerate((5, 3)):
        cluster.place(TaskId(row, 0), row, column, None, VictimInfo(rank=3, priority=priority))
    evaluator = Evaluator("p", ProfileSettings(filters=["alone_on_node"]))
    found = nominate(cluster, VictimTable(cluster), evaluator, request_for(cluster), priority=9)
    assert found is not None
    assert (found.row, found.victims) == (1, (TaskId(1, 0),))
    never = Evaluator("p", ProfileSettings(filters=["never_mind"]))
    assert nominate(cluster, VictimTable(cluster), never, request_for(cluster), priority=9) is None


def test_filters_about_capacity_run_after_all_others_and_are_ignored_where_capacity_is() -> None:
    evaluator = Evaluator("p", ProfileSettings(filters=["alone_on_node", "needs_company"]))
    names = [plugin.name for plugin in evaluator.filters]
    assert names[-5:] == ["needs_company", "alone_on_node", "promised", "gpus", "resources"]
    cluster = cluster_of({}, {})
    occupy(cluster, 1)
    filtered = evaluator.run_filters(request_for(cluster), View(cluster))
    assert filtered.feasible_ignoring_capacity.tolist() == [False, True]
    assert filtered.alive.tolist() == [False, False]


# --- waking ----------------------------------------------------------------------------------------------------


def test_a_filter_that_does_not_say_what_wakes_it_is_woken_by_everything() -> None:
    scene = scene_with("needs_company")
    scene.join("n1")
    scene.submit("waits", profile="picky")
    scene.tick()
    assert scene.why("waits")[0] == "lonely"
    scene.submit("company")
    scene.tick()
    assert scene.on("waits") == ["n1"], "a task that was placed let it in"


def test_a_filter_that_says_what_wakes_it_is_not_asked_at_anything_else() -> None:
    scene = scene_with("says_own_node")
    scene.join("n1")
    scene.submit("waits", profile="picky")
    scene.submit("company")
    scene.tick()
    assert scene.on("waits") == [], "nothing left the node, and the node itself did not change"
    scene.join("n1")
    scene.tick()
    assert scene.on("waits") == ["n1"]


def test_a_task_that_leaves_wakes_what_waits_for_its_node() -> None:
    scene = scene_with("alone_on_node")
    scene.join("n1")
    scene.run("first", priority="high")
    scene.submit("second", priority="high", profile="picky")
    assert scene.tick() == []
    scene.end("first")
    assert scene.tick() == ["second.0"]


def test_signals_of_several_filters_add_up() -> None:
    levels = WakeSignals(levels=frozenset({"rack"}))
    assert not OWN_NODE
    assert OWN_NODE | levels == levels
    assert levels | ANYTHING == WakeSignals(levels=frozenset({"rack"}), anything=True)


# --- explanations ----------------------------------------------------------------------------------------------


def test_its_refusal_is_the_explanation_and_says_whether_eviction_helps() -> None:
    cluster = cluster_of({}, {})
    for row in range(2):
        occupy(cluster, row, TaskId(900, row))
    pipeline = pipeline_of(cluster, filters=["alone_on_node"])
    found = pipeline.decide(request_for(cluster), "1.0").explanation
    assert (found.outcome, found.eviction) == ("not_alone", Eviction.HELPS)
    assert found.message == "runs 1 tasks, such as on n0; alone_on_node refuses all of 2 nodes"
    assert [step.remaining for step in found.funnel if step.filter == "alone_on_node"] == [0]


def test_many_nodes_are_explained_in_one_sentence_unless_it_says_otherwise() -> None:
    cluster = cluster_of({}, {})
    (group,) = NeedsCompany().refuse_many(request_for(cluster), View(cluster), np.array([0, 1]))
    assert (group.positions.tolist(), group.message, group.helps) == ([0, 1], "runs nothing", False)


# --- suggestions -----------------------------------------------------------------------------------------------


def test_its_requirement_is_named_in_the_core_and_evicting_is_suggested() -> None:
    scene = scene_with("alone_on_node")
    scene.join("n1")
    scene.run("first", priority="high")
    found = stuck(scene, priority="high")
    assert [(one.requirement, one.nodes_alone) for one in found.core] == [("an empty node", 0)]
    evict = next(one for one in found.suggestions if one.kind == "evict")
    assert evict.words == "evict first"
    assert any(one.kind == "priority" for one in found.suggestions), "with which it may displace the other itself"


def test_a_filter_without_words_of_its_own_is_named() -> None:
    scene = scene_with("needs_company")
    scene.join("n1")
    found = stuck(scene)
    assert [one.requirement for one in found.core] == ["a node that filter needs_company accepts"]


def test_capacity_counts_what_the_filter_lets_in() -> None:
    scene = scene_with("alone_on_node")
    scene.join("n1")
    scene.join("n2")
    room = whole(Questions(scene.engine).plans.capacity(Workload.model_validate({"name": "w", "profile": "picky"})))
    assert room.total == 2, "one a node, whatever amounts would allow"


# --- failing ---------------------------------------------------------------------------------------------------


def test_a_filter_that_fails_at_what_it_is_asked_beside_the_decision_stops_nothing() -> None:
    scene = scene_with("fails_everywhere")
    scene.join("n1")
    scene.run("first", priority="high")
    found = stuck(scene, priority="high")
    assert [one.requirement for one in found.core] == ["plugin 'fails_everywhere' failed: OSError: requirement"]
    assert "failed to say why: OSError: summarise" in scene.why("waits")[1]
    scene.end("first")
    scene.tick()
    assert scene.on("waits") == ["n1"]


# --- the recipe of CONTRIBUTING --------------------------------------------------------------------------------

RECIPE = '''
"""The node has a name of an even length."""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.placement.contract import Filter, Request


class EvenName(Filter):
    name: ClassVar[str] = "even_name"
    reason: ClassVar[str] = "odd_name"

    def mask(self, request: Request, view: View) -> B1 | bool:
        return np.array([len(view.name(i)) % 2 == 0 for i in range(view.size)])

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        return Refused(self.name, self.reason, f"{view.name(position)} has an odd length")
'''


def test_a_filter_is_one_file_and_one_line_in_the_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "even_name.py").write_text(RECIPE)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = importlib.import_module("even_name").EvenName
    monkeypatch.delitem(sys.modules, "even_name")
    built_in = dict(registry.FILTERS)
    monkeypatch.setattr(registry, "FILTERS", {plugin.name: plugin, **built_in})  # the line
    monkeypatch.setattr("dovetail.placement.pipeline.profiles.FILTERS", registry.FILTERS)
    registry.filters.cache_clear()
    evaluator = Evaluator("balanced", BUILT_IN["balanced"])
    assert "even_name" in [one.name for one in evaluator.filters], "every profile has it"
    scene = Scene()
    scene.join("odd")
    scene.submit("waits")
    scene.tick()
    assert scene.why("waits") == ("odd_name", "odd has an odd length, such as on odd; even_name refuses all of 1 node")
    found = whole(
        impasse(
            scene.engine._state,
            Workload.model_validate({"name": "waits", "resources": {"cpu": 1}}),
            scene.work("waits"),
            scene.now,
        )
    )
    assert [one.requirement for one in found.core] == ["a node that filter even_name accepts"]
    scene.join("even")
    scene.tick()
    assert scene.on("waits") == ["even"]
