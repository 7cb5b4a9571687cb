"""Every file in `files/`, played by the engine and held against what it says must come of it."""

from collections import Counter
from pathlib import Path

import pytest
from tests.scenarios.case import Case, decide

from dovetail.model.text.reading import read_one
from dovetail.simulate.replay import Simulation

FILES = sorted((Path(__file__).parent / "files").glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_comes_out_as_its_file_says(path: Path) -> None:
    case = read_one(Case, path.read_bytes(), path.name)
    expect = case.expect
    found = decide(case)
    assert {name: found.placed.get(name, []) for name in expect.placed} == expect.placed
    assert {name: dict(Counter(found.placed.get(name, []))) for name in expect.counts} == expect.counts
    assert [name for name in found.order if name in expect.order] == expect.order
    assert {name: found.waiting.get(name, ("placed", ""))[0] for name in expect.waiting} == expect.waiting
    for name, words in expect.because.items():
        assert words in found.waiting[name][1]
    for name, by_node in expect.loads.items():
        assert {node: found.best[name][node].load for node in by_node} == pytest.approx(by_node)
    for name, by_node in expect.scores.items():
        assert {node: found.best[name][node].total for node in by_node} == pytest.approx(by_node)
    assert {name: found.funnel[name] for name in expect.funnel} == expect.funnel
    if case.is_played:
        lives = {life.name: life for life in Simulation.of(case.scenario()).run().lives}
        assert {name: str(lives[name].state) for name in expect.states} == expect.states
        assert {name: lives[name].wait_s for name in expect.waits_s} == pytest.approx(expect.waits_s)


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 12
