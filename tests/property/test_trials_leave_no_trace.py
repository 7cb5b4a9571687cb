"""Whatever is placed, removed and reserved inside trials, however deep, the state afterwards is the state before."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.invariants import check_invariants
from tests.property.random_work import OVERCOMMIT, Join, a_fleet, a_step, a_workload, some_amounts
from tests.property.side_by_side import SideBySide

from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId
from dovetail.placement.pipeline.profiles import BUILT_IN

pytestmark = pytest.mark.usefixtures("small_limits")

NODE_FLAGS = ("online", "cordoned", "present", "ready", "backends")


def snapshot(cluster: Cluster) -> dict[str, Any]:
    """A copy of every table; the change log and its epoch only ever go forward."""
    tables, placements = cluster.resources, cluster.placements
    width = cluster.width
    found: dict[str, Any] = {
        f"resources.{name}": {resource: values[i, :width].tobytes() for resource, i in tables.index.items()}
        for name, values in vars(tables).items()
        if isinstance(values, np.ndarray) and values.ndim == 2
    }
    found |= {name: getattr(cluster.status, name)[:width].tobytes() for name in NODE_FLAGS}
    found["kinds"] = cluster.kinds[:width].tobytes()
    found["load"] = tables.load[:width].tobytes()
    found["labels"] = {key: column.codes[:width].tobytes() for key, column in cluster.labels.columns.items()}
    found["taints"] = cluster.taints.codes[:width].tobytes()
    found["by_task"] = {
        task: (placed.row, placed.column.tobytes(), placed.service) for task, placed in placements.by_task.items()
    }
    found["by_row"] = [set(tasks) for tasks in placements.by_row]
    found["by_service"] = {service: dict(rows) for service, rows in placements.by_service.items()}
    found["directory"] = dict(placements.directory)
    found["names"] = (
        list(cluster.names),
        dict(cluster.rows),
        dict(cluster.status.offline_reasons),
        dict(cluster.status.cordon_reasons),
        set(cluster.status.drained),
    )
    return found


def try_things(r: Random, cluster: Cluster, columns: list[Any], depth: int) -> None:
    """A few changes, with trials inside the trial."""
    names = list(cluster.rows)
    for step in range(r.randint(1, 8)):
        what = r.randrange(4)
        placed = list(cluster.placements.by_task)
        if what == 0 and placed:
            cluster.remove(r.choice(placed))
        elif what == 1:
            cluster.reserve(r.choice(names), some_amounts(r), r.choice([1, -1]))
        elif what == 2 and depth:
            before = snapshot(cluster)
            with cluster.trial():
                try_things(r, cluster, columns, depth - 1)
            assert snapshot(cluster) == before
        else:
            service = r.choice([None, ("default", "web"), ("default", "new")])
            row = cluster.rows[r.choice(names)]
            cluster.place(TaskId(1000 + depth, 1000 * len(placed) + step), row, r.choice(columns), service)
        check_invariants(cluster, within_capacity=False)


def grown_cluster(r: Random) -> SideBySide:
    """A cluster with some history: tasks, reservations, measurements, nodes that came and went."""
    both = SideBySide(BUILT_IN["balanced"], r.choice(OVERCOMMIT))
    for node in a_fleet(r):
        both.take(Join(node))
    for _ in range(r.randint(0, 25)):
        both.take(a_step(r))
    for node in a_fleet(r)[:3]:  # so that there are nodes, whoever left
        both.take(Join(node))
    both.submit(a_workload(r))
    return both


@examples(40)
@given(seed=st.integers(0, 2**32))
def test_a_trial_leaves_every_table_as_it_was_to_the_bit(seed: int) -> None:
    r = Random(seed)
    both = grown_cluster(r)
    columns = [submitted.request.column for submitted in both.submitted]
    before = snapshot(both.cluster)
    with both.cluster.trial():
        try_things(r, both.cluster, columns, depth=2)
    assert snapshot(both.cluster) == before
    check_invariants(both.cluster, within_capacity=False)


@examples(30)
@given(seed=st.integers(0, 2**32))
def test_decisions_after_a_trial_are_those_of_a_cluster_that_never_had_one(seed: int) -> None:
    """Ranking caches read the trial's changes; they must see them undone as well."""
    r = Random(seed)
    both = grown_cluster(r)
    for submitted in list(both.submitted):
        both.decided(submitted, TaskId(submitted.id, 5000))  # a ranking cache exists and is up to date
    columns = [submitted.request.column for submitted in both.submitted]
    with both.cluster.trial():
        try_things(r, both.cluster, columns, depth=1)
        for submitted in both.submitted:
            both.cached.decide(submitted.request, "x", repeats=True)
    for submitted in both.submitted:
        both.decided(submitted, TaskId(submitted.id, 5001))


def fail_within_a_trial(r: Random, both: SideBySide) -> None:
    with both.cluster.trial():
        try_things(r, both.cluster, [submitted.request.column for submitted in both.submitted], depth=0)
        raise RuntimeError("no deal")


def test_an_error_inside_a_trial_is_passed_on_after_everything_is_undone() -> None:
    r = Random(1)
    both = grown_cluster(r)
    before = snapshot(both.cluster)
    with pytest.raises(RuntimeError, match="no deal"):
        fail_within_a_trial(r, both)
    assert snapshot(both.cluster) == before
