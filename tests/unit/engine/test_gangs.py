"""Gangs: whole or not at all, at the start and ever after."""

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene


def gang(least: int) -> dict[str, int]:
    return {"min": least}


def test_a_gang_starts_together_or_not_at_all() -> None:
    scene = Scene()
    scene.join("n1", cpu=3)
    scene.submit("g", replicas=4, gang=gang(4))
    assert scene.tick() == []
    assert scene.on("g") == []
    assert "4 tasks must start together and 3 fit" in scene.why("g")[1]
    scene.join("n2", cpu=1)
    assert sorted(scene.tick()) == ["g.0", "g.1", "g.2", "g.3"]


def test_an_elastic_gang_starts_with_its_least_and_the_others_join_while_there_is_room() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.submit("g", replicas=4, gang=gang(2))
    assert len(scene.tick()) == 2
    scene.join("n2", cpu=1)
    assert len(scene.tick()) == 1
    scene.join("n3", cpu=1)
    assert len(scene.tick()) == 1
    assert len(scene.on("g")) == 4


def test_an_elastic_gang_goes_on_when_it_loses_one_it_can_spare() -> None:
    scene = Scene()
    scene.join("n1", cpu=3)
    scene.run("g", replicas=3, gang=gang(2), retries=1)
    scene.end("g", 2, code=None)
    assert scene.stops == []
    assert len(scene.on("g")) == 2
    assert scene.tick(400) == ["g.2"]


def test_a_gang_that_falls_below_its_least_goes_back_whole_and_starts_together_again() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.join("n2", cpu=2)
    scene.run("g", replicas=4, gang=gang(4))
    scene.leave("n2")
    assert len(scene.stops) == 4, "two are told that their node left, two that their gang broke"
    assert scene.tick() == [], "nobody starts while others are still being stopped"
    scene.stopped()
    assert scene.on("g") == []
    assert scene.tick() == []
    scene.join("n3", cpu=2)
    assert len(scene.tick()) == 4
    assert scene.work("g").tasks[0].attempt == 2


def test_a_member_that_is_retried_brings_the_others_back_with_it() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("g", replicas=2, gang=gang(2), retries=1)
    scene.end("g", 0, code=1)
    assert scene.stopping() == ["g.1"]
    scene.stopped()
    assert scene.tick() == [], "the pause after the failure holds for all"
    assert sorted(scene.tick(400)) == ["g.0", "g.1"]


def test_a_gang_whose_retries_are_used_up_fails_and_the_rest_is_stopped() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("g", replicas=3, gang=gang(3))
    scene.end("g", 0, code=7)
    assert scene.stopping() == ["g.1", "g.2"]
    scene.stopped()
    record = scene.record("g")
    assert (record.state, record.failed, record.cancelled) == ("failed", 1, 2)
    assert not scene.engine._state.cluster.placements.by_task


def test_what_waits_of_a_gang_that_can_never_be_whole_fails_with_gang_failed() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.submit("g", replicas=3, gang=gang(2))
    assert len(scene.tick()) == 2
    scene.started("g")
    scene.end("g", 0, code=1)
    scene.end("g", 1, code=1)
    record = scene.record("g")
    assert (record.state, record.failed) == ("failed", 3)
    (last,) = [task for task in scene.notebook.tasks_of(1) if task.task.replica == 2]
    assert (last.reason, last.message) == ("gang_failed", "2 of 3 tasks failed, and the gang needs 2")


def test_members_that_succeeded_count_for_the_gang() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("g", replicas=3, gang=gang(3))
    scene.end("g", 0)
    scene.end("g", 1)
    assert scene.stops == []
    scene.end("g", 2)
    assert scene.record("g").state == "succeeded"


def test_two_gangs_that_fit_only_by_half_hold_nothing_and_run_one_after_the_other() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("blocker", replicas=2)
    scene.submit("a", replicas=3, gang=gang(3))
    scene.submit("b", replicas=3, gang=gang(3))
    assert scene.tick() == []
    assert scene.on("a") == scene.on("b") == []
    scene.end_all("blocker")
    assert scene.tick() == ["a.0", "a.1", "a.2"]
    assert scene.on("b") == []
    scene.end_all("a")
    assert scene.tick() == ["b.0", "b.1", "b.2"]


def test_a_cancelled_gang_that_waits_makes_way_for_the_next() -> None:
    scene = Scene(schedulers={"default": {"backfill": {"mode": "none"}}})
    scene.join("n1", cpu=2)
    scene.submit("a", replicas=3, gang=gang(3))
    scene.submit("b", replicas=2, gang=gang(2))
    assert scene.tick() == []
    scene.cancel("a")
    assert scene.tick() == ["b.0", "b.1"]


def test_a_cancelled_gang_that_runs_is_stopped_whole() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("g", replicas=3, gang=gang(2), retries=5)
    scene.cancel("g")
    assert scene.stopping() == ["g.0", "g.1", "g.2"]
    scene.stopped()
    assert scene.record("g").state == "cancelled"
    assert scene.tick(1000) == []


def test_cancelling_a_gang_that_just_broke_ends_it() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("g", replicas=3, gang=gang(3), retries=3)
    scene.end("g", 0, code=1)
    scene.cancel("g")
    scene.stopped()
    assert scene.record("g").state == "cancelled"
    assert scene.tick(1000) == []


def test_a_gang_with_a_limit_of_concurrency_never_exceeds_it_while_a_broken_part_stops() -> None:
    scene = Scene()
    scene.join("n1", cpu=16)
    scene.submit("g", replicas=6, gang=gang(3), concurrency=3, retries=1)
    assert len(scene.tick()) == 3
    scene.started("g")
    scene.end("g", 0, code=1)
    scene.tick()
    assert scene.work("g").holding == 2
    scene.stopped()
    assert len(scene.tick()) == 3
    assert scene.work("g").holding == 3


def test_a_broken_gang_starts_together_again_after_a_restart() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("g", replicas=3, gang=gang(3), retries=1)
    scene.end("g", 0, code=1)
    scene.restart()
    scene.stopped()
    assert scene.tick() == []
    assert len(scene.tick(400)) == 3


def test_a_gang_that_is_doomed_stays_so_after_a_restart() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.submit("g", replicas=5, gang=gang(4), retries=1)
    assert len(scene.tick()) == 4
    scene.started("g")
    for code in (1, 1):
        scene.stopped()
        scene.tick(400)
        scene.started("g")
        scene.end("g", 0, code)
    scene.stopped()
    scene.tick(400)
    scene.started("g")
    scene.end("g", 1, 1)
    scene.stopped()
    scene.tick(400)
    scene.started("g")
    scene.end("g", 1, 1)
    assert scene.work("g").terminal_reason
    scene.restart()
    scene.end("g", 2, code=1)
    scene.stopped()
    assert scene.record("g").state == "failed"
    assert scene.tick(1000) == []


def test_a_gang_that_fails_while_more_of_it_waits_at_the_head_leaves_nothing_behind() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.submit("g", replicas=3, gang=gang(2), deadline={"run_for": 100})
    assert len(scene.tick()) == 2
    scene.started("g")
    state = scene.engine._state
    assert state.backfill_states["default"].head == 1
    scene.submit("later", cpu=2)
    assert scene.tick() == []
    scene.end("g", 0, code=1)
    scene.end("g", 1, code=1)
    assert scene.record("g").state == "failed"
    assert state.backfill_states["default"].head != 1
    assert 1 not in state.promises.of_work
    assert scene.tick() == ["later.0"]


@examples(60)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3)), min_size=2, max_size=5),
    nodes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
)
def test_whatever_gangs_compete_none_is_half_placed_and_all_that_fit_alone_run(
    sizes: list[tuple[int, int, int]], nodes: list[int]
) -> None:
    scene = Scene()
    for number, cpu in enumerate(nodes):
        scene.join(f"n{number}", cpu=cpu)
    fits = {}
    for number, (replicas, least, cpu) in enumerate(sizes):
        least = min(least, replicas)
        scene.submit(f"g{number}", cpu, replicas=replicas, gang=gang(least))
        fits[f"g{number}"] = sum(node // cpu for node in nodes) >= least
    for _ in range(sum(replicas for replicas, _, _ in sizes) + 1):
        scene.tick()
        live = [name for name, id_ in scene.ids.items() if id_ in scene.engine._state.work]
        for name in live:
            work = scene.work(name)
            assert work.holding + work.succeeded >= work.terms.gang_min or not work.holding
        for name in live:
            scene.started(name)
            scene.end_all(name)
    assert {name for name in fits if scene.record(name).state == "succeeded"} == {n for n, fit in fits.items() if fit}
