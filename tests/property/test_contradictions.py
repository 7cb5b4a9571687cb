"""Contradictions against brute force: all nodes there could be, with two labels and one resource, asked one by one.

Expressions name the values x, y and z and the numbers 0 to 4. A node may have another value, or a longer one, or none,
and five of the resource, so that these nodes stand for all others: what none of them satisfies, none can.
"""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.constraints.contradictions.contradiction import find
from dovetail.constraints.programs.program import compile_node
from dovetail.model.node import Node
from dovetail.model.requests.shaping import shape_of
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.filters.node_labels import NodeAffinityFilter, NodeSelectorFilter
from dovetail.placement.filters.resources import ResourcesFilter, ResourcesSettings

VALUES = ("x", "y", "z")
ON_NODES = (*VALUES, *(f"{value}1" for value in VALUES), "other", None)
MOST = 5
LEAST_FOUND = 0.9  # of what is contradictory

labels = st.sampled_from(["node.labels.a", 'node.labels["b"]'])
texts = st.sampled_from([f'"{value}"' for value in VALUES])
amounts = st.sampled_from(["node.free.memory", "node.capacity.memory"])
numbers = st.integers(0, MOST - 1).map(str)
listed = st.lists(texts, max_size=3).map(lambda values: f"[{', '.join(values)}]")


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(" ".join)


leaves = st.one_of(
    joined(labels, st.sampled_from(["==", "!="]), texts),
    joined(labels, st.just("in"), listed),
    joined(labels, st.sampled_from(["==", "!="]), labels),
    st.sampled_from(["has(node.labels.a)", '"b" in node.labels']),
    st.builds("{}.startsWith({})".format, labels, texts),
    joined(amounts, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers),
    joined(numbers, st.sampled_from(["<", ">="]), amounts),
    joined(amounts, st.sampled_from(["<", "<=", "=="]), amounts),
    st.builds("{} + {} {} {}".format, amounts, numbers, st.sampled_from(["<", ">="]), numbers),
    joined(amounts, st.just("in"), st.lists(numbers, min_size=1, max_size=3).map(lambda few: f"[{', '.join(few)}]")),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=4,
)
matches = st.one_of(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from("ab"),
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from(VALUES), min_size=1, max_size=2),
        }
    ),
    st.fixed_dictionaries({"key": st.sampled_from("ab"), "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
terms = st.fixed_dictionaries({"match": st.lists(matches, min_size=1, max_size=2)})
workloads = st.fixed_dictionaries(
    {
        "name": st.just("w"),
        "constraints": st.lists(st.fixed_dictionaries({"require": expressions}), min_size=1, max_size=4),
        "node_selector": st.dictionaries(st.sampled_from("ab"), st.sampled_from(VALUES), max_size=1),
        "node_affinity": st.fixed_dictionaries({"required": st.lists(terms, max_size=2)}),
        "resources": st.fixed_dictionaries({"memory": st.integers(0, MOST - 1)}),
    }
)


@cache
def all_nodes() -> View:
    cluster = Cluster()
    rooms = [(size, free) for size in range(MOST + 1) for free in range(size + 1)]
    for index, (a, b, (size, free)) in enumerate(product(ON_NODES, ON_NODES, rooms)):
        labels = {key: value for key, value in (("a", a), ("b", b)) if value is not None}
        name = f"n{index}"
        cluster.join(Node.model_validate({"name": name, "labels": labels, "capacity": {"memory": size}}))
        cluster.reserve(name, {"memory": size - free})
    return View(cluster)


def satisfying(spec: Workload) -> B1:
    """Which of all nodes the filters and the programs let through."""
    view = all_nodes()
    shape = shape_of(spec, "default", "tried")
    needs = {name: float(amount) for name, amount in shape.amounts}
    request = Request(shape, np.zeros(0), needs)
    found = np.ones(view.size, dtype=np.bool_)
    for plugin in (NodeSelectorFilter(), NodeAffinityFilter(), ResourcesFilter(ResourcesSettings())):
        found &= plugin.mask(request, view)
    for constraint in spec.constraints:
        assert isinstance(constraint.require, str)
        found &= compile_node(constraint.require).holds(view, spec.namespace)
    return found


@examples(150)
@given(workloads)
def test_what_is_refused_no_node_satisfies(fields: dict[str, Any]) -> None:
    spec = Workload.model_validate(fields)
    contradiction = find(spec)
    if contradiction is not None:
        assert not satisfying(spec).any(), contradiction


def test_most_of_what_no_node_satisfies_is_refused() -> None:
    selector_count = {True: 0, False: 0}
    tried: list[str] = []

    @examples(900, derandomize=True, database=None)
    @given(workloads)
    def count(fields: dict[str, Any]) -> None:
        spec = Workload.model_validate(fields)
        tried.append(spec.name)
        if not satisfying(spec).any():
            selector_count[find(spec) is not None] += 1

    count()
    assert sum(selector_count.values()) > 0.25 * len(tried)
    assert selector_count[True] >= LEAST_FOUND * sum(selector_count.values()), selector_count
