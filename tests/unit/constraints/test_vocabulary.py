"""What each word of the language means, on a small cluster."""

import numpy as np
import pytest
from tests.unit.constraints.small_cluster import GIB, SPACE, small_cluster, where

from dovetail.cluster.change_log import LABELS, PLACEMENTS, RESOURCES, STATUS, TAINTS
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import cluster_values, compile_cluster, compile_node
from dovetail.model.node import Node
from dovetail.model.resources import Capacity


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ('node.name == "n3"', "3"),
        ('node.name in ["n0", "n9"]', "0"),
        ('node.name.startsWith("n")', "012345"),
        ('node.backend == "local"', "5"),
        ('node.labels.zone == "a"', "024|3"),
        ('node.labels["zone"] in ["a", "b"]', "01245|3"),
        ("has(node.labels.spot)", "3"),
        ('"zone" in node.labels', "01245"),
        ("has(node.labels.nobody_has_it)", ""),
        ('node.labels.nobody_has_it == "a"', "|012345"),
        ("size(node.labels) == 3", "01245"),
        ("node.load > 0.0", "24"),
        ("node.tasks == 2", "2"),
        ("node.capacity.cpu >= 8", "45"),
        ("node.free.cpu == 3.0", "2"),
        ("node.free.memory < GiB(17)", "0"),
        ("node.free.memory == GiB(46)", "2"),
        ("node.allocated.slots == 1", "4"),
        ("node.free.gpu > 0", "135"),
        ('node.free["nvidia.com/mig-1g.5gb"] >= 3', "2"),
        ('node.free["vendor.com/unknown"] == 0', "012345"),
        ('node.free["memory"] == GiB(46)', "2"),
        ("node.utilisation.cpu == 0.5", "2"),
        ("node.utilisation.gpu == 0.0", "012345"),
        ('"dedicated" in node.taints', "1"),
        ("node.taints == []", "02345"),
        ('"vm" in node.kinds', "012345"),
    ],
)
def test_a_word_about_the_node_is_read_from_its_row(text: str, nodes: str) -> None:
    assert where(text, small_cluster()) == nodes


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ('domain("rack").free.gpu >= 8', "01345"),
        ('domain("rack").nodes == 2', "0145"),
        ('domain("rack").tasks == 2', "2"),
        ('domain("zone").capacity.memory == GiB(16 + 48 + 80)', "024"),
        ('domain("zone").utilisation.memory > 0.02', "024"),
        ('domain("zone").name == "a"', "024"),
        ('domain("zone").name == node.name', "3"),
        ('domain("host").nodes == 1', "012345"),
    ],
)
def test_a_domain_is_summed_and_a_node_without_the_label_is_alone(text: str, nodes: str) -> None:
    assert where(text, small_cluster()) == nodes


def test_zone_means_the_conventional_label_where_no_node_has_the_plain_one() -> None:
    cluster = Cluster()
    for i in range(3):
        cluster.join(Node(name=f"n{i}", labels={"topology.kubernetes.io/zone": "ab"[i // 2]}))
    assert where('domain("zone").nodes == 2', cluster) == "01"
    assert where('domain("zone").name == "b"', cluster) == "2"


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ('node.name in workload("db").nodes', "24"),
        ('workload("db").nodes == ["n2", "n4"]', "012345"),
        ('size(workload("db").nodes) == 2', "012345"),
        ('workload("db").tasks == 3', "012345"),
        ('workload("db").here == 2', "2"),
        ('workload("nobody").nodes == []', "012345"),
        ('workload("nobody").here == 0', "012345"),
        ('distance(workload("db")) == 0.0', "24"),
        ('distance(workload("db")) < 60', "245"),
        ('distance(workload("nobody")) == 100', "012345"),
        ('distance("n0") < 60', "01"),
        ('distance("gone") == 100', "012345"),
    ],
)
def test_other_work_is_looked_up_in_the_namespace_of_who_asks(text: str, nodes: str) -> None:
    assert where(text, small_cluster()) == nodes


def test_a_workload_of_another_namespace_is_not_seen() -> None:
    view = View(small_cluster())
    assert compile_node('workload("db").tasks == 3').holds(view, SPACE) is True
    assert compile_node('workload("db").tasks == 3').holds(view, "elsewhere") is False


def test_forecast_is_what_was_observed_until_there_are_three_measurements_and_then_follows_the_trend() -> None:
    cluster = small_cluster()
    for minute in range(2):
        cluster.observe("n0", {"cpu": 1000 * minute}, 60.0 * minute)
    assert where("node.forecast.cpu == 1.0 && node.observed.cpu == 1.0", cluster) == "0"
    for minute in range(2, 60):
        cluster.observe("n0", {"cpu": 50 * minute}, 60.0 * minute)
    assert where("node.forecast.cpu > 3.4 && node.forecast.cpu < 3.8 && node.observed.cpu < 3", cluster) == "0"


@pytest.mark.parametrize(
    ("text", "reads", "non_local"),
    [
        ("true", set(), False),
        ("has(node.labels.spot) && node.free.cpu > 1", {LABELS, RESOURCES}, False),
        ('"dedicated" in node.taints', {TAINTS}, False),
        ('node.name == "a"', {STATUS}, False),
        ('domain("rack").free.cpu > 1', {LABELS, RESOURCES}, True),
        ('distance(workload("db")) < 5', {LABELS, PLACEMENTS, STATUS}, True),
    ],
)
def test_a_program_says_what_its_result_depends_on(text: str, reads: set[str], non_local: bool) -> None:
    program = compile_node(text)
    assert set(program.reads) == reads
    assert program.non_local == non_local


def test_a_program_names_the_levels_and_workloads_it_looks_at() -> None:
    program = compile_node('domain("rack").free.cpu > domain("leaf").free.cpu && workload("db").here == 0')
    assert program.levels == {"rack", "leaf"}
    assert program.workloads == {"db"}


def test_nodes_as_they_would_be_are_read_as_they_would_be() -> None:
    cluster = small_cluster()
    column = cluster.resources.vector({"cpu": 1000, "memory": GIB, "slots": 1})
    ahead = View(cluster).after(np.array([0, 0]), column, np.array([1.0, 2.0]))
    program = compile_node("node.free.cpu == 2.0 && node.tasks == 2 && node.utilisation.cpu == 0.5")
    assert np.asarray(program.holds(ahead, SPACE)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("cluster.nodes == 6", True),
        ("cluster.free.gpu == 24", True),
        ("cluster.utilisation.cpu > 0.5", False),
        ("cluster.tasks == 3", True),
        ("cluster.waiting >= 7", True),
        ('domain("zone", "a").nodes == 3', True),
        ('domain("zone", "nowhere").capacity.memory == 0', True),
        ('domain("host", "n2").tasks == 2', True),
        ("cluster.tasks / (cluster.nodes - 6) > 1", False),
    ],
)
def test_a_condition_about_the_cluster_is_one_answer(text: str, holds: bool) -> None:
    assert compile_cluster(text).holds(View(small_cluster()), 7) is holds


def test_a_condition_about_the_cluster_says_what_it_saw() -> None:
    program = compile_cluster('domain("zone", "a").utilisation.cpu > 0.85 || cluster.waiting > 3')
    said = cluster_values(program, View(small_cluster()), 5)
    assert said == 'domain("zone", "a").utilisation.cpu is 0.25, cluster.waiting is 5'


def test_a_node_that_left_is_counted_nowhere() -> None:
    cluster = small_cluster()
    cluster.leave("n0")
    assert where('domain("rack").nodes == 1', cluster) == "123"
    assert compile_cluster("cluster.nodes == 5").holds(View(cluster)) is True
    cluster.join(Node(name="n9", capacity=Capacity(cpu=1)))
    assert where('node.name == "n9"', cluster) == "0"
