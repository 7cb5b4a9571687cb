"""Who has to go for a pod that fits nowhere, and on which node."""

from random import Random
from typing import Any

import numpy as np
import pytest
from tests.unit.kubernetes.manifests import ZONE, Little, apart, app, container, node, pod

from dovetail.cluster.placements import NO_VICTIM_INFO, Placement
from dovetail.cluster.views.view import View
from dovetail.kubernetes.objects.budgets import read_budgets
from dovetail.kubernetes.objects.pods import PROFILE
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.preemption.nominate import nominate
from dovetail.placement.preemption.nomination import Budgets, NominatedPlacements, Preemptor
from dovetail.placement.preemption.reprieve_trials import Trials
from dovetail.placement.preemption.victim_gangs import VictimGangs


def _nominated(
    world: Little, waiting: dict[str, Any], budgets: list[Any] | None = None, coming: NominatedPlacements | None = None
) -> tuple[str, list[str], int] | None:
    scene, state = world.scene, world.scene.engine._state
    meaning = scene.reader.read(waiting)
    asked = read_budgets(budgets or [], scene.tasks)
    request, evaluator = _asked(world, waiting)
    found = nominate(state.cluster, state.victim_table, evaluator, request, meaning.priority, asked, coming)
    if found is None:
        return None
    return state.cluster.names[found.row], [scene.names[task][1] for task in found.victims], found.violations


def _asked(world: Little, waiting: dict[str, Any]) -> tuple[Request, Evaluator]:
    scene, state = world.scene, world.scene.engine._state
    meaning = scene.reader.read(waiting)
    scene.refresh()
    return state.asked(meaning.terms.shape, meaning.identity), state.pipelines[PROFILE].evaluator


def _low(name: str, cpu: str = "1", priority: int = 0, **labels: str) -> dict[str, Any]:
    return pod(name, labels, cpu=cpu, priority=priority)


def test_as_few_as_can_be_go_and_the_least_important_of_them() -> None:
    world = Little([node("n")]).put("n", _low("a", "2", 5), _low("b", "1", 1), _low("c", "1", 1))
    assert _nominated(world, pod(cpu="1", priority=10)) == ("n", ["c"], 0)
    assert _nominated(world, pod(cpu="2", priority=10)) == ("n", ["b", "c"], 0)


def test_nobody_goes_for_a_pod_that_is_no_more_urgent() -> None:
    world = Little([node("n")]).put("n", _low("a", "4", 10))
    assert _nominated(world, pod(cpu="1", priority=10)) is None
    assert _nominated(world, pod(cpu="1", priority=11)) == ("n", ["a"], 0)


def test_nobody_goes_in_vain() -> None:
    world = Little([node("n")]).put("n", _low("a", "4"))
    assert _nominated(world, pod(cpu="5", priority=10)) is None
    assert _nominated(world, pod(cpu="1", priority=10, nodeSelector={"no": "where"})) is None


def test_the_node_whose_most_urgent_victim_is_least_urgent_is_nominated() -> None:
    world = Little([node("m"), node("n")]).put("m", _low("a", "4", 2)).put("n", _low("b", "2", 1), _low("c", "2", 1))
    assert _nominated(world, pod(cpu="4", priority=10)) == ("n", ["b", "c"], 0)


def test_then_the_one_with_fewer_victims_then_the_one_whose_began_last() -> None:
    world = Little([node("m"), node("n")]).put("m", _low("a", "2"), _low("b", "2")).put("n", _low("c", "4"))
    assert _nominated(world, pod(cpu="4", priority=10)) == ("n", ["c"], 0)
    world = Little([node("m"), node("n")])
    world.put("m", _low("a", "4"), started="2026-01-01T00:00:00Z").put(
        "n", _low("b", "4"), started="2026-02-01T00:00:00Z"
    )
    assert _nominated(world, pod(cpu="4", priority=10)) == ("n", ["b"], 0)


def _budget(allowed: int, selector: Any, **status: Any) -> dict[str, Any]:
    meta = {"name": "b", "namespace": "default"}
    return {"metadata": meta, "spec": {"selector": selector}, "status": {"disruptionsAllowed": allowed, **status}}


def test_those_within_their_budget_go_before_those_beyond_it() -> None:
    world = Little([node("n")]).put("n", _low("a", "2", 1, app="db"), _low("b", "2", 5, app="web"))
    assert _nominated(world, pod(cpu="2", priority=10)) == ("n", ["a"], 0)
    assert _nominated(world, pod(cpu="2", priority=10), [_budget(0, app("db"))]) == ("n", ["b"], 0)
    assert _nominated(world, pod(cpu="2", priority=10), [_budget(1, app("db"))]) == ("n", ["a"], 0)
    assert _nominated(world, pod(cpu="4", priority=10), [_budget(0, app("db"))]) == ("n", ["b", "a"], 1)


def test_a_node_where_no_budget_is_overrun_is_nominated_whatever_else_it_costs() -> None:
    world = Little([node("m"), node("n")]).put("m", _low("a", "4", 1, app="db")).put("n", _low("b", "4", 5))
    assert _nominated(world, pod(cpu="4", priority=10), [_budget(0, app("db"))]) == ("n", ["b"], 0)
    gone = _budget(0, app("db"), disruptedPods={"a": "2026-01-01T00:00:00Z"})
    assert _nominated(world, pod(cpu="4", priority=10), [gone]) == ("m", ["a"], 0)
    assert _nominated(world, pod(cpu="4", priority=10), [_budget(0, {}), _budget(0, None)]) == ("m", ["a"], 0)


def test_a_port_or_a_neighbour_in_the_way_has_to_go() -> None:
    taken = pod("a", containers=[container("1", ports=[{"hostPort": 80}])])
    wanted = pod(containers=[container("1", ports=[{"hostPort": 80}])], priority=10)
    world = Little([node("n")]).put("n", taken, _low("b"))
    assert _nominated(world, wanted) == ("n", ["a"], 0)
    world = Little([node("n", "z")]).put("n", _low("a", app="db"), _low("b"))
    assert _nominated(world, pod(priority=10, affinity=apart(ZONE, app("db")))) == ("n", ["a"], 0)


def test_a_neighbour_on_another_node_of_the_domain_cannot_be_sent_away() -> None:
    world = Little([node("m", "z"), node("n", "z", cpu="500m")]).put("m", _low("a", app="db"))
    world.put("n", _low("b", "500m", app="db"))
    assert _nominated(world, pod(priority=10, affinity=apart(ZONE, app("db")))) is None


def test_room_that_another_is_about_to_take_is_not_to_be_had() -> None:
    world = Little([node("m"), node("n")]).put("m", _low("a", "4")).put("n", _low("b", "4", 5))
    scene, waiting = world.scene, pod(cpu="3", priority=10)
    request, _ = _asked(world, waiting)
    row = scene.engine._state.cluster.rows["m"]
    for identity in (None, scene.reader.read(waiting).identity):
        coming = NominatedPlacements()
        coming.add(row, TaskId(99, 0), Placement(row, request.column, None, NO_VICTIM_INFO, identity))
        assert _nominated(world, waiting) == ("m", ["a"], 0)
        assert _nominated(world, waiting, coming=coming) == ("n", ["b"], 0)


def test_the_cluster_is_left_as_it_was() -> None:
    world = Little([node("n", "z")]).put("n", _low("a", "3", app="db"), _low("b"))
    cluster = world.scene.engine._state.cluster
    before = dict(cluster.placements.by_task), cluster.resources.free.copy()
    _nominated(world, pod(priority=10, cpu="2", affinity=apart(ZONE, app("db"))))
    assert dict(cluster.placements.by_task) == before[0]
    assert np.array_equal(cluster.resources.free, before[1])


@pytest.mark.parametrize("seed", range(40))
def test_one_pass_over_arrays_finds_what_trying_every_node_finds(seed: int) -> None:
    """Also while pods come and go, and others are awaited, when only rows that changed are looked at again."""
    chance = Random(seed)
    world = Little([node(f"n{i}", cpu=str(chance.randint(2, 4))) for i in range(6)])
    scene, state = world.scene, world.scene.engine._state
    budgets = [_budget(chance.randint(0, 2), app("db"))] if chance.random() < 0.5 else []
    alive: list[str] = []
    coming, awaited = NominatedPlacements(), dict[TaskId, int]()
    for step in range(12):
        name, on = f"p{step}", f"n{chance.randrange(6)}"
        labels = {"app": chance.choice(["db", "web"])}
        began = f"2026-01-{chance.randint(1, 28):02}T00:00:00Z"
        world.put(
            on, pod(name, labels, cpu=f"{chance.randint(5, 25)}00m", priority=chance.randint(-2, 6)), started=began
        )
        alive.append(name)
        if chance.random() < 0.3:
            state.cluster.remove(scene.tasks["default", alive.pop(chance.randrange(len(alive)))])
        waiting = pod(cpu=chance.choice(["1", "2", "3"]), priority=chance.choice([3, 5]))
        meaning = scene.reader.read(waiting)
        (request, evaluator), asked = _asked(world, waiting), read_budgets(budgets, scene.tasks)
        if awaited and chance.random() < 0.5:
            task, row = awaited.popitem()
            coming.remove(row, task)
        if chance.random() < 0.5:
            task, row = TaskId(100 + step, 0), chance.randrange(6)
            coming.add(row, task, Placement(row, request.column, None, NO_VICTIM_INFO, meaning.identity))
            awaited[task] = row
        if evaluator.run_filters(request, _view(world)).alive.any():
            continue
        those = NominatedPlacements() if chance.random() < 0.2 else coming
        trials = Trials(state.cluster, evaluator, Preemptor(request, meaning.priority, Budgets(asked), those))
        expected = trials.best(np.flatnonzero(trials.candidates()))
        found = nominate(state.cluster, state.victim_table, evaluator, request, meaning.priority, asked, those)
        assert found == (None if expected is None else expected.nomination)


def _join(world: Little, unit: int, *names: str) -> None:
    """These pods are one gang."""
    cluster = world.scene.engine._state.cluster
    for name in names:
        task = world.scene.tasks["default", name]
        was = cluster.remove(task)
        info = was.victim_info._replace(unit=unit)
        cluster.place(task, was.row, was.column, was.service, info, was.identity)


def _with_gangs(
    world: Little, waiting: dict[str, Any], need: int, own: int = -1, budgets: list[Any] | None = None
) -> tuple[str, list[str], int] | None:
    """What one pass over arrays finds; trying every node finds the same."""
    scene, state = world.scene, world.scene.engine._state
    meaning = scene.reader.read(waiting)
    (request, evaluator), asked = _asked(world, waiting), read_budgets(budgets or [], scene.tasks)
    state.victim_table.refresh()
    gangs = VictimGangs(state.victim_table, meaning.priority, lambda _: need, own)
    pod_, tables = (request, meaning.priority), (state.cluster, state.victim_table, evaluator)
    found = nominate(*tables, *pod_, asked, gangs=gangs)
    trials = Trials(state.cluster, evaluator, Preemptor(*pod_, Budgets(asked), NominatedPlacements(), gangs))
    expected = trials.best(np.flatnonzero(trials.candidates()))
    assert found == (None if expected is None else expected.nomination)
    if found is None:
        return None
    return state.cluster.names[found.row], [scene.names[task][1] for task in found.victims], found.violations


def _gang_on_three_nodes(**of_last: Any) -> Little:
    world = Little([node(name, cpu="1") for name in ("k", "m", "n")])
    world.put("k", _low("a")).put("m", _low("b")).put("n", _low("c", **of_last))
    _join(world, 7, "a", "b", "c")
    return world


def test_a_gang_goes_as_a_whole_if_it_cannot_go_on() -> None:
    urgent = pod(cpu="1", priority=10)
    assert _with_gangs(_gang_on_three_nodes(), urgent, need=3) == ("k", ["a", "b", "c"], 0)
    assert _with_gangs(_gang_on_three_nodes(), urgent, need=2) == ("k", ["a"], 0)


def test_a_gang_with_a_task_that_may_not_go_keeps_all_its_tasks() -> None:
    world, urgent = _gang_on_three_nodes(priority=20), pod(cpu="1", priority=10)
    assert _with_gangs(world, urgent, need=3) is None
    assert _with_gangs(_gang_on_three_nodes(), urgent, need=3, own=7) is None, "nor does a pod break its own gang"


def test_breaking_a_gang_counts_all_its_tasks_and_their_budgets() -> None:
    world, urgent = _gang_on_three_nodes(), pod(cpu="1", priority=10)
    world.scene.add_objects({"nodes": [node("o", cpu="1")]})
    world.put("o", _low("alone", priority=5, app="db"))
    assert _with_gangs(world, urgent, need=3) == ("k", ["a", "b", "c"], 0), "what counts first is how urgent they are"
    world = _gang_on_three_nodes(priority=6)
    world.scene.add_objects({"nodes": [node("o", cpu="1")]})
    world.put("o", _low("alone", priority=5, app="db"))
    assert _with_gangs(world, urgent, need=3) == ("o", ["alone"], 0)
    assert _with_gangs(world, urgent, need=3, budgets=[_budget(0, app("db"))]) == ("k", ["c", "a", "b"], 0)


def test_what_a_broken_gang_leaves_on_the_node_saves_others() -> None:
    world = Little([node("n")]).put("n", _low("a", "1", 5), _low("x", "1", 3), _low("b", "2", 1))
    assert _nominated(world, pod(cpu="3", priority=10)) == ("n", ["x", "b"], 0)
    _join(world, 7, "a", "b")
    assert _with_gangs(world, pod(cpu="3", priority=10), need=2) == ("n", ["a", "b"], 0)


@pytest.mark.parametrize("seed", range(40))
def test_one_pass_over_arrays_and_trials_agree_about_gangs_too(seed: int) -> None:
    chance = Random(seed)
    world = Little([node(f"n{i}", cpu=str(chance.randint(2, 4))) for i in range(6)])
    budgets = [_budget(chance.randint(0, 2), app("db"))] if chance.random() < 0.5 else []
    for i in range(14):
        labels = {"app": chance.choice(["db", "web"])}
        one = pod(f"p{i}", labels, cpu=f"{chance.randint(5, 20)}00m", priority=chance.choice([0, 0, 0, 4]))
        world.put(f"n{chance.randrange(6)}", one, started=f"2026-01-{chance.randint(1, 28):02}T00:00:00Z")
    for unit, names in ((1, range(4)), (2, range(4, 7)), (3, range(7, 9))):
        _join(world, unit, *[f"p{i}" for i in names])
    need = chance.randint(1, 3)
    for cpu in ("1", "2", "3"):
        _with_gangs(world, pod(cpu=cpu, priority=chance.choice([3, 5])), need, budgets=budgets)


def _view(world: Little) -> View:
    return View(world.scene.engine._state.cluster)
