"""Victims on small random clusters: always enough, never one too many, and as cheap as the exact optimum."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.small_preemptions import NOW, Case, lost_s, optimum, random_case

from dovetail.cluster.placements import VictimInfo
from dovetail.model.task import TaskId
from dovetail.placement.preemption import search
from dovetail.placement.preemption.cost import Cost
from dovetail.placement.preemption.victim_ledger import Victims
from dovetail.placement.preemption.victim_table import VictimTable

SEEDS = st.integers(min_value=0, max_value=10**9)
COUNTS = st.integers(min_value=1, max_value=6)


def how_many_fit(case: Case, gone: set[TaskId]) -> int:
    """Counted node by node in plain Python."""
    resources, placements, total = case.cluster.resources, case.cluster.placements, 0
    for row in np.flatnonzero(case.candidates).tolist():
        room = resources.free[:, row].copy()
        for task in placements.by_row[row]:
            if task in gone or task in case.exclude:
                room += placements.by_task[task].column
        counts = [room[k] // case.column[k] for k in np.flatnonzero(case.column)]
        total += max(0, int(min(counts)))
    return total


def price(case: Case, gone: set[TaskId]) -> Cost:
    """The cost of a set of victims, from the definition; the set must be whole gangs or what gangs can lose."""
    running = case.running()
    victim_table = {task: running[task].victim_info for task in gone}
    violations = broken = 0
    for group, left in case.budgets.items():
        violations += max(0, sum(victim_info.group == group for victim_info in victim_table.values()) - left)
    for unit in {victim_info.unit for victim_info in victim_table.values()} - {-1}:
        members = {task for task, placement in running.items() if placement.victim_info.unit == unit}
        if len(members & gone) > case.slack.get(unit, 0):
            assert members <= gone, "half a gang is left"
            broken += 1
    soon = sum(NOW - victim_info.since < victim_info.min_run_s for victim_info in victim_table.values())
    lost = sum(lost_s(victim_info) for victim_info in victim_table.values())
    return Cost(
        -min(victim_info.rank for victim_info in victim_table.values()), violations, broken, soon, lost, len(gone)
    )


def without_one_unit(case: Case, gone: set[TaskId]) -> list[set[TaskId]]:
    """The victims less one task, or less one whole gang where that was broken."""
    running, found = case.running(), []
    for task in gone:
        unit = running[task].victim_info.unit
        members = {other for other in gone if running[other].victim_info.unit == unit}
        found.append(gone - (members if unit >= 0 and len(members) > case.slack.get(unit, 0) else {task}))
    return found


def check(case: Case, found: Victims) -> None:
    gone, running = set(found.tasks), case.running()
    assert list(found.tasks) == sorted(gone)
    assert all(case.may_go(running[task]) for task in gone)
    assert how_many_fit(case, gone) >= case.count
    assert all(how_many_fit(case, fewer) < case.count for fewer in without_one_unit(case, gone))
    assert not gone or price(case, gone) == found.cost
    assert len(found.placements) == case.count
    with case.cluster.trial():
        for task in gone | case.exclude:
            case.cluster.remove(task)
        for i, row in enumerate(found.placements):
            assert case.candidates[row]
            case.cluster.place(TaskId(10**6, i), row, case.column)
        assert (case.cluster.resources.free >= 0).all()


@given(SEEDS, COUNTS)
def test_victims_make_enough_room_and_nobody_goes_in_vain(seed: int, count: int) -> None:
    case = random_case(seed, count)
    found = case.solve()
    if found is not None:
        check(case, found)


@pytest.fixture(scope="module")
def nothing_is_small() -> Iterator[None]:
    """As on a large cluster: the exact search of small cases is not used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "is_small", lambda _: False)
        yield


@pytest.mark.usefixtures("nothing_is_small")
class TestLargeCases:
    @given(SEEDS, COUNTS)
    def test_victims_make_enough_room_and_nobody_goes_in_vain(self, seed: int, count: int) -> None:
        case = random_case(seed, count)
        found = case.solve()
        if found is not None:
            check(case, found)

    def test_victims_of_a_gang_cost_the_exact_optimum_mostly(self) -> None:
        decided, best = shares(None, 150)
        assert best >= 0.9 * decided


@given(SEEDS, COUNTS)
def test_the_same_question_has_the_same_answer_and_leaves_no_trace(seed: int, count: int) -> None:
    case = random_case(seed, count)
    changes, free = case.cluster.changes, case.cluster.resources.free.copy()
    assert case.solve() == case.solve()
    assert case.cluster.changes == changes
    assert (case.cluster.resources.free == free).all()


@given(SEEDS)
def test_a_table_that_was_kept_answers_like_one_made_anew(seed: int) -> None:
    case, chance = random_case(seed), random.Random(seed)
    table = VictimTable(case.cluster)
    for step in range(6):
        with case.cluster.trial():
            disturb(case, chance, 1000 + step)
        disturb(case, chance, step)
        case.exclude &= set(case.cluster.placements.by_task)
        assert case.solve(table) == case.solve()


def disturb(case: Case, chance: random.Random, replica: int) -> None:
    placements = case.cluster.placements
    if placements.by_task and chance.random() < 0.7:
        case.cluster.remove(chance.choice(sorted(placements.by_task)))
    for extra in range(chance.randint(0, 4)):
        victim_info = VictimInfo(rank=chance.randint(2, 4), since=NOW - chance.randint(0, 500), group=500, unit=500)
        row = chance.randrange(case.cluster.width)
        column = case.cluster.resources.vector({"cpu": 500.0, "slots": 1.0})
        case.cluster.place(TaskId(500, 10 * replica + extra), row, column, None, victim_info)


def shares(count: int | None, cases: int) -> tuple[int, int]:
    """How many cases had something to decide, and how many of those came out at the least cost there is."""
    decided = best = 0
    for seed in range(cases):
        case = random_case(seed, count)
        found, least = case.solve(), optimum(case)
        assert (found is None) == (least is None), f"seed {seed}: {found} where the optimum is {least}"
        if found is not None and found.tasks:
            decided += 1
            best += found.cost == least
    return decided, best


def test_victims_of_one_task_cost_the_exact_optimum() -> None:
    decided, best = shares(1, 200)
    assert decided > 80
    assert best == decided


def test_victims_of_a_gang_cost_the_exact_optimum_nearly_always() -> None:
    decided, best = shares(None, 200)
    assert decided > 80
    assert best >= 0.97 * decided


@pytest.mark.parametrize("count", [1, 3])
def test_no_answer_means_that_not_even_everyone_would_do(count: int) -> None:
    for seed in range(150):
        case = random_case(seed, count)
        case.slack.clear()
        if case.solve() is None:
            may_go = {task for task, placement in case.running().items() if case.may_go(placement)}
            assert how_many_fit(case, whole_gangs(case, may_go)) < count


def whole_gangs(case: Case, tasks: set[TaskId]) -> set[TaskId]:
    """Those who may go with all of their gang."""
    running = case.running()
    held = {running[task].victim_info.unit for task in set(running) - tasks} - {-1}
    return {task for task in tasks if running[task].victim_info.unit not in held}
