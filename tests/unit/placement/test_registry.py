"""Finding and building plugins: unknown, double, broken and misconfigured ones are named at start."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.placement.conftest import Offer
from tests.unit.placement.outsiders import Good

from dovetail.model.plugin_loading import PluginError
from dovetail.placement import registry
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.profiles import BUILT_IN, ProfileSettings
from dovetail.placement.registry import (
    FILTERS,
    HOOK_GROUP,
    POD_FILTERS,
    SCORES,
    build_filter,
    build_hook,
    build_score,
    filters,
    scores,
)

HERE = "tests.unit.placement.outsiders"


def test_an_unknown_plugin_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(PluginError, match=r"unknown score 'best_fitt'\. Did you mean 'best_fit'\? Known: "):
        build_score("best_fitt", {})
    with pytest.raises(PluginError, match=r"unknown filter 'weather'\. Known: ready, "):
        build_filter("weather", {})


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_profile_can_be_built(name: str) -> None:
    Evaluator(name, BUILT_IN[name])


def test_entry_points_of_other_packages_are_found_and_get_their_settings(offer: Offer) -> None:
    offer("other", {"dovetail.filters": {"limit": f"{HERE}:Good"}})
    assert "limit" in filters()
    built = build_filter("limit", {"most": 7})
    assert isinstance(built, Good)
    assert built.most == 7


BESIDE_THE_BACKPORT = """
import importlib_metadata
from dovetail.model.plugin_loading import offered_plugins
from dovetail.placement.registry import FILTER_GROUP, build_filter, sees_image

assert isinstance(offered_plugins(FILTER_GROUP)["limit"], importlib_metadata.EntryPoint), "it gives its own"
assert build_filter("limit", {"most": 7}).most == 7
assert not sees_image(("limit",), ())
"""


def test_entry_points_are_found_where_somebody_has_imported_the_backport_of_their_library(
    tmp_path: Path, offer: Offer
) -> None:
    """In a process of its own: importing it changes how Python finds entry points."""
    pytest.importorskip("importlib_metadata")
    offer("other", {"dovetail.filters": {"limit": f"{HERE}:Good"}})
    path = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run([sys.executable, "-c", BESIDE_THE_BACKPORT], env={**os.environ, "PYTHONPATH": path}, check=True)


def test_settings_are_checked_when_the_profile_is_built_and_errors_name_plugin_and_field(offer: Offer) -> None:
    offer("other", {"dovetail.filters": {"limit": f"{HERE}:Good"}})
    wrong = "settings of filter 'limit': most: 'many' is not accepted; write a whole number"
    with pytest.raises(PluginError, match=wrong):
        build_filter("limit", {"most": "many"})
    with pytest.raises(PluginError, match=r"settings of filter 'limit': least: unknown field 'least'"):
        build_filter("limit", {"least": 1})
    with pytest.raises(PluginError, match="settings of score 'best_fit': sharp"):
        build_score("best_fit", {"sharp": True})
    with pytest.raises(
        PluginError,
        match=r"settings of filter 'resources': basis: 'guessed' is not accepted. Write one of: allocated, observed",
    ):
        build_filter("resources", {"basis": "guessed"})


def test_settings_for_a_plugin_that_the_profile_does_not_use_are_refused() -> None:
    settings = ProfileSettings(scores={"best_fit": 1}, settings={"resorces": {"basis": "observed"}})
    with pytest.raises(PluginError, match=r"'mine' has settings for 'resorces'.* Did you mean 'resources'\?"):
        Evaluator("mine", settings)


def test_a_plugin_with_the_name_of_a_built_in_one_is_refused(offer: Offer) -> None:
    offer("other", {"dovetail.scores": {"best_fit": f"{HERE}:ByRow"}})
    with pytest.raises(PluginError, match=r"'best_fit' in dovetail\.scores has the name of a built-in one"):
        scores()


def test_two_packages_may_not_offer_the_same_name(offer: Offer) -> None:
    offer("one", {"dovetail.scores": {"by_row": f"{HERE}:ByRow"}})
    offer("two", {"dovetail.scores": {"by_row": f"{HERE}:ByRow"}})
    with pytest.raises(PluginError, match=r"two packages offer a plugin 'by_row' in dovetail\.scores"):
        scores()


def test_a_package_that_cannot_be_imported_hurts_only_who_names_it(offer: Offer) -> None:
    offer(
        "broken", {"dovetail.scores": {"broken": "no_such_module:Score"}, HOOK_GROUP: {"hook": "no_such_module:Hook"}}
    )
    build_score("best_fit", {})
    with pytest.raises(PluginError, match=r"plugin 'broken' \(no_such_module:Score\) cannot be loaded: No module"):
        build_score("broken", {})
    with pytest.raises(PluginError, match="plugin 'hook'"):
        build_hook("hook", {})


@pytest.mark.parametrize(
    ("group", "name", "value", "words"),
    [
        ("scores", "misnamed", "Misnamed", "calls itself 'something_else'"),
        ("scores", "reads_unknown", "ReadsUnknown", "reads weather; column groups are resources, placements"),
        ("scores", "odd_filter", "OddFilter", "is no score: derive it from dovetail.placement.contract.Score"),
        ("filters", "has_no_mask", "HasNoMask", "cannot be built: TypeError: .*abstract method '?mask"),
        ("filters", "has_no_reason", "HasNoReason", "needs a `reason`"),
        ("scores", "cannot_be_built", "CannotBeBuilt", "cannot be built: OSError: no licence server"),
    ],
)
def test_a_plugin_that_breaks_the_contract_is_refused_at_start(
    offer: Offer, group: str, name: str, value: str, words: str
) -> None:
    offer("other", {f"dovetail.{group}": {name: f"{HERE}:{value}"}})
    with pytest.raises(PluginError, match=words):
        (build_score if group == "scores" else build_filter)(name, {})


def test_the_engine_asks_plugins_what_they_are_and_knows_none_of_their_classes() -> None:
    known = {plugin.__name__ for table in (FILTERS, POD_FILTERS, SCORES) for plugin in table.values()}
    source = Path(registry.__file__).parents[1]
    modules = [*(source / "engine").rglob("*.py"), *(source / "placement" / "preemption").rglob("*.py")]
    assert modules
    for module in modules:
        tree = ast.parse(module.read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        plugins = [one for one in imports if (one.module or "").startswith("dovetail.placement.")]
        named = {alias.name for one in plugins for alias in one.names}
        assert not named & known, f"{module.name} imports {sorted(named & known)}; declare it in the contract instead"


def test_every_built_in_plugin_says_what_it_reads_and_every_filter_what_wakes_it() -> None:
    """The defaults are safe, and slow: a built-in plugin has no excuse."""
    filters_here = {**FILTERS, **POD_FILTERS}
    for plugin in (*filters_here.values(), *SCORES.values()):
        assert any("reads" in vars(base) for base in plugin.__mro__[:-3]), f"{plugin.name} does not say what it reads"
    for name, plugin in filters_here.items():
        says = "wakes_on" in vars(plugin) or "wake_signals" in vars(plugin)
        assert says, f"{name} does not say what wakes it"
