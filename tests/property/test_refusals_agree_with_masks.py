"""What `why-not` says of one node is what the filters decided about it when they looked at all nodes at once."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.property.random_work import OVERCOMMIT, SCOPES, Join, a_fleet, a_step, a_workload
from tests.property.side_by_side import SideBySide, Submitted
from tests.reference import ReferenceNode

from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.placement.pipeline.profiles import BUILT_IN, ProfileSettings
from dovetail.placement.pipeline.refusal import refusals

pytestmark = pytest.mark.usefixtures("small_limits")

BASES = ["allocated", "observed"]


def with_history(r: Random, basis: str) -> SideBySide:
    profile = ProfileSettings(scores=BUILT_IN["balanced"].scores, settings={"resources": {"basis": basis}})
    both = SideBySide(profile, r.choice(OVERCOMMIT), r.choice(SCOPES))
    for node in a_fleet(r):
        both.take(Join(node))
    for _ in range(r.randint(0, 30)):
        both.take(a_step(r))
    both.submit(a_workload(r))
    return both


def check_resources(both: SideBySide, submitted: Submitted, node: ReferenceNode, refused: Refused) -> None:
    """The numbers are the node's own, and eviction helps exactly where an empty node would do."""
    assert refused.resource is not None
    needs = submitted.workload.resources.amounts()
    assert refused.needed == needs[refused.resource]
    assert refused.free == both.oracle.free(node, refused.resource)
    assert refused.needed > refused.free
    short = [name for name, amount in needs.items() if both.oracle.free(node, name) < amount]
    never = [n for n in short if both.oracle.schedulable(node, n) - node.reserved.get(n, 0) < needs[n]]
    assert refused.eviction is (Eviction.NEVER if never else Eviction.HELPS)
    assert refused.resource in (never or short)


@pytest.mark.parametrize("basis", BASES)
@examples(35)
@given(seed=st.integers(0, 2**32))
def test_a_node_is_refused_exactly_where_the_mask_is_false_and_by_the_same_filters(basis: str, seed: int) -> None:
    both = with_history(Random(seed), basis)
    evaluator, cluster = both.afresh.evaluator, both.cluster
    for submitted in both.submitted:
        filtered = evaluator.run_filters(submitted.request, View(cluster))
        for row in range(cluster.width):
            found = refusals(submitted.request, evaluator, cluster, row)
            assert (not found) == bool(filtered.alive[row])
            assert all(refused.message and refused.reason for refused in found)
            node = both.oracle.nodes[row]
            if node is None:
                assert found[0].filter == "ready"
                continue
            assert [refused.filter for refused in found] == both.oracle.refusing(submitted.workload, node)
            for refused in found:
                if refused.filter == "resources":
                    check_resources(both, submitted, node, refused)


@examples(30)
@given(seed=st.integers(0, 2**32))
def test_filters_and_scores_answer_alike_for_all_nodes_and_for_some(seed: int) -> None:
    """The ground under every cache: a subset of rows gets the very numbers the whole cluster gets."""
    r = Random(seed)
    both = with_history(r, r.choice(BASES))
    evaluator, view = both.afresh.evaluator, View(both.cluster)
    rows = np.array([r.randrange(view.size) for _ in range(r.randint(1, 12))], dtype=np.intp)
    for submitted in both.submitted:
        whole, part = (
            evaluator.run_filters(submitted.request, view),
            evaluator.run_filters(submitted.request, view.subset(rows)),
        )
        assert (whole.alive[rows] == part.alive).all()
        total = evaluator.score(submitted.request, view).total
        assert total[rows].tobytes() == evaluator.score(submitted.request, view.subset(rows)).total.tobytes()


@examples(35)
@given(seed=st.integers(0, 2**32))
def test_what_a_pending_task_is_told_to_be_short_of_is_the_nearest_miss(seed: int) -> None:
    both = with_history(Random(seed), "allocated")
    for submitted in both.submitted:
        choice = both.afresh.decide(submitted.request, "x")
        if choice.explanation.outcome != "insufficient_resources":
            continue
        workload, oracle = submitted.workload, both.oracle
        candidates = [n for n in oracle.present() if oracle.refusing(workload, n) == ["resources"]]
        needs = workload.resources.amounts()
        lacks = {
            n.definition.name: sum(max(0, need - oracle.free(n, name)) / need for name, need in sorted(needs.items()))
            for n in candidates
        }
        for shortage in choice.explanation.shortages:
            assert lacks[shortage.best_node] == pytest.approx(min(lacks.values()))
            assert shortage.needed == needs[shortage.resource]
            assert shortage.best_free == oracle.free(oracle.node(shortage.best_node), shortage.resource)
        short = {name for name in needs if oracle.free(oracle.node(shortage.best_node), name) < needs[name]}
        assert {shortage.resource for shortage in choice.explanation.shortages} == short
        fits_empty = any(
            all(oracle.schedulable(n, name) - n.reserved.get(name, 0) >= need for name, need in needs.items())
            for n in candidates
        )
        assert choice.explanation.eviction is (Eviction.HELPS if fits_empty else Eviction.NEVER)
