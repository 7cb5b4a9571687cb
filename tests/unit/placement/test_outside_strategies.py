"""Strategies of other packages: found by entry point, given their settings, and kept to themselves when they fail."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import ValidationError
from tests.unit.engine.scene import Scene
from tests.unit.placement.conftest import Offer
from tests.unit.placement.outsiders import OddStrategy

from dovetail.control.settings import load_settings
from dovetail.engine.settings import EngineSettings, UnknownStrategy
from dovetail.model.plugin_loading import PluginError
from dovetail.model.text.complaint import Invalid

HERE = "tests.unit.placement.outsiders"


@pytest.fixture(autouse=True)
def _offered(offer: Offer) -> None:
    points = {"odd_strategy": f"{HERE}:OddStrategy", "fussy": f"{HERE}:FussyStrategy", "broken": "no_such_module:It"}
    offer("odd", {"dovetail.strategies": points})


def racks(**settings: Any) -> Scene:
    scene = Scene(**settings)
    for rack in "abc":
        for number in range(2):
            scene.join(f"{rack}{number}", cpu=1, labels={"rack": rack})
    return scene


def chosen(scene: Scene, strategy: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The rack that a gang of two goes to, and what was noted."""
    topology = {"required": "rack"} | ({"strategy": strategy} if strategy else {})
    scene.run("g", replicas=2, gang={"min": 2}, topology=topology)
    (rack,) = {node[0] for node in scene.on("g")}
    return rack, scene.decisions[-1].explanation.notes


def test_a_workload_may_name_one_and_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OddStrategy, "answer", staticmethod(lambda prospect: np.arange(prospect.domains)))
    rack, notes = chosen(racks(), "odd_strategy")
    assert rack == "c"
    assert "strategy odd_strategy: rack c has 2 points, rack b 1 points" in notes


def test_points_of_domains_that_do_not_hold_the_gang_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OddStrategy, "answer", staticmethod(lambda prospect: np.arange(prospect.domains)))
    scene = racks()
    scene.run("other", node_selector={"rack": "c"})
    assert chosen(scene, "odd_strategy")[0] == "b"


def test_settings_may_name_one_for_all_gangs_and_give_it_settings() -> None:
    for sign, expected in ((1, "c"), (-1, "a")):
        assert chosen(racks(gang_strategy="fussy", strategies={"fussy": {"sign": sign}}))[0] == expected


BAD: list[tuple[Any, str]] = [
    (ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
    (None, "returned shape ()"),
    (1.0, "returned shape ()"),
    (lambda prospect: np.zeros(prospect.domains + 1), "one entry a domain would be (3,)"),
    (lambda prospect: np.full(prospect.domains, np.nan), "NaN"),
    (lambda prospect: np.full(prospect.domains, np.inf), "infinite"),
    (lambda prospect: ["high"] * prospect.domains, "could not convert"),
]


@pytest.mark.parametrize(("answer", "words"), BAD)
def test_one_that_fails_is_named_and_balanced_chooses(answer: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OddStrategy, "answer", staticmethod(answer) if callable(answer) else answer)
    rack, notes = chosen(racks(), "odd_strategy")
    assert rack == "a"
    (failure,) = [note for note in notes if "failed" in note]
    assert failure.startswith("strategy 'odd_strategy' failed: ")
    assert words in failure
    assert failure.endswith("; balanced was used")
    assert any(note.startswith("strategy balanced: rack a has") for note in notes)


@pytest.mark.parametrize(
    ("name", "words"), [("broken", "cannot be loaded: No module"), ("fussy", "settings of strategy 'fussy': sign")]
)
def test_one_that_cannot_be_built_hurts_only_who_names_it(name: str, words: str) -> None:
    rack, notes = chosen(racks(), name)
    assert rack == "a"
    assert any(words in note and note.endswith(": balanced was used") for note in notes)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("gang_strategy: fussy", "settings of strategy 'fussy': sign"),
        ("strategies: {fussy: {sign: minus}}", "settings of strategy 'fussy': sign"),
        ("strategies: {broken: {}}", "plugin 'broken' .*cannot be loaded"),
    ],
)
def test_one_that_settings_name_is_built_at_the_start_or_refused_there(given: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=words):
        Scene(**yaml.safe_load(given))
    path = tmp_path / "dovetail.yaml"
    path.write_text(f"scheduling: {{{given}}}")
    with pytest.raises(Invalid, match=words):
        load_settings(path, {})


def test_a_name_that_there_is_not_is_refused_with_the_nearest_that_there_is() -> None:
    with pytest.raises(ValidationError, match=r"unknown strategy 'fusy'\. Did you mean 'fussy'\? Known: balanced, "):
        EngineSettings.model_validate({"gang_strategy": "fusy"})
    with pytest.raises(UnknownStrategy, match=r"Did you mean 'odd_strategy'\?"):
        racks().submit("g", replicas=2, gang={"min": 2}, topology={"strategy": "odd_strategi"})


def test_work_that_was_submitted_before_its_strategy_was_taken_away_goes_by_balanced(offer: Offer) -> None:
    scene = racks(strategies={"mine": {"tightness": 1}})
    scene.submit("g", replicas=2, gang={"min": 2}, topology={"required": "rack", "strategy": "mine"})
    scene.settings = EngineSettings()
    scene.restart()
    scene.tick()
    assert scene.on("g") == ["a0", "a1"]
    assert "there is no strategy 'mine' any more: balanced was used" in scene.decisions[-1].explanation.notes


def test_a_plugin_may_not_have_the_name_of_a_built_in_strategy(offer: Offer) -> None:
    offer("greedy", {"dovetail.strategies": {"pack": f"{HERE}:OddStrategy"}})
    with pytest.raises(PluginError, match=r"'pack' in dovetail\.strategies has the name of a built-in strategy"):
        Scene()
