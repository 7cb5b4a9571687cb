"""A cluster file may describe the network; the simulated engine then goes by it."""

import pytest

from dovetail.model.text.complaint import Invalid
from dovetail.simulate.replay import Simulation
from dovetail.simulate.scenario import read_scenario

SCENARIO = """\
cluster:
  groups: [{prefix: n, count: 4, capacity: {cpu: 2}}]
  topology:
    levels: [{name: leaf, bandwidth: 400Gbps}]
    domains: {leaf: {l1: "n-[1-2]", l2: "n-[3-4]"}}
workloads:
  - {name: db, resources: {cpu: 2}, run: {simulate: {run_time: 1h}}}
  - {name: web, at: 1s, resources: {cpu: 2}, affinity: [{near: db, within: leaf}], run: {simulate: {run_time: 1m}}}
"""


def test_domains_of_the_topology_are_those_that_work_may_ask_for() -> None:
    simulation = Simulation.of(read_scenario(SCENARIO, "s.yaml"))
    outcome = simulation.run()
    assert outcome.states["succeeded"] == 2
    assert simulation.engine._state.cluster.labels.row(3) == {"leaf": "l2"}
    without = SCENARIO.replace('{l1: "n-[1-2]", l2: "n-[3-4]"}', '{l1: "n-[3-4]"}')
    assert Simulation.of(read_scenario(without, "s.yaml", 10.0)).run().states.get("succeeded", 0) == 0


def test_a_mistake_in_it_is_named_with_its_line() -> None:
    with pytest.raises(Invalid, match=r"s\.yaml:4: cluster\.topology\.levels\[0\]\.bandwidth: 'quick'"):
        read_scenario(SCENARIO.replace("400Gbps", "quick"), "s.yaml")
