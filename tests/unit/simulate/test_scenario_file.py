"""Scenario files: what is wrong with one is said with its line, and the examples are good."""

from pathlib import Path

import pytest

from dovetail.control.settings import load_settings
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.reading import read_workloads
from dovetail.simulate.scenario import read_cluster, read_scenario, scenario_of

EXAMPLES = Path(__file__).parents[3] / "examples"
GOOD = "cluster: {groups: [{prefix: n, count: 2}]}\nworkloads: [{name: a}]\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("cluster: {}\nworkloads: [{name: a}]\n", "s.yaml:1: cluster: describes no node"),
        ("cluster: {groups: [{count: 1}]}\n", "s.yaml:1: has no work"),
        (f"{GOOD}horizon: soon\n", "s.yaml:3: horizon: 'soon' is not a duration"),
        (f"{GOOD}evnts: []\n", "Did you mean 'events'?"),
        (f"{GOOD}events:\n- {{at: 1s, fail: n-9}}\n", "s.yaml:4: events[0].fail: there is no node 'n-9'"),
        (f"{GOOD}events:\n- {{at: 1s}}\n", "s.yaml:4: events[0]: says nothing; an event names exactly one of"),
        (f"{GOOD}events: [{{at: 1s, fail: n-1, drain: n-1}}]\n", "says fail and drain"),
        (f"{GOOD}stream: {{rate: 1}}\n", "s.yaml:3: stream: never ends"),
        (
            f"{GOOD}settings:\n  default_profile: bestfit\n",
            "s.yaml:4: settings.default_profile: unknown profile",
        ),
        ("cluster: {groups: [{count: 1}], observe: {}}\nworkloads: [{name: a}]\n", "give the scenario a horizon"),
        ("cluster: {groups: [{count: 1}]}\nworkloads:\n- {name: a}\n- {name: a}\n", "s.yaml:4: workloads[1].name"),
        ("cluster: {nodes: [{name: n-1}], groups: [{prefix: n, count: 3}]}\nworkloads: [{name: a}]\n", "two nodes are"),
        (f"{GOOD}---\n{GOOD}", "a second document begins here"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_scenario(text, "s.yaml")
    assert complaint in str(caught.value)


def test_a_horizon_given_outside_counts_as_one_of_the_file() -> None:
    text = f"{GOOD}stream: {{rate: 1}}\n"
    assert read_scenario(text, "s.yaml", 60.0).horizon == 60.0


def test_arrivals_of_file_and_stream_are_merged_in_order() -> None:
    work = "workloads: [{name: b, at: 9s}, {name: a, at: 3s}]\nstream: {rate: 1, count: 9}\n"
    text = f"cluster: {{groups: [{{count: 1}}]}}\n{work}"
    found = list(read_scenario(text, "s.yaml").arrivals(1))
    assert [at_s for at_s, _ in found] == sorted(at_s for at_s, _ in found)
    assert [spec.name for _, spec in found if spec.name in "ab"] == ["a", "b"]
    assert len(found) == 11


def test_every_example_can_be_read() -> None:
    read_scenario((EXAMPLES / "gpu-cluster.yaml").read_bytes(), "gpu-cluster.yaml")
    cluster = read_cluster((EXAMPLES / "cluster.yaml").read_bytes(), "cluster.yaml")
    for name in ("hello.yaml", "workloads.yaml"):
        workloads = read_workloads((EXAMPLES / name).read_bytes(), name)
        assert scenario_of(workloads, cluster).workloads
    load_settings(EXAMPLES / "settings.yaml", {})
