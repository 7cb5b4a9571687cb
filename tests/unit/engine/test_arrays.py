"""Arrays: many tasks of which only so many run at once."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene


def test_no_more_run_at_once_than_allowed_and_one_starts_when_one_ends() -> None:
    scene = Scene()
    scene.join("n1", cpu=16)
    scene.submit("array", replicas=6, concurrency=2)
    assert len(scene.tick()) == 2
    assert scene.tick(100) == []
    scene.started("array")
    scene.end("array", 0)
    assert scene.tick() == ["array.2"]


def test_a_task_that_is_being_stopped_still_counts() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2", cpu=16)
    scene.submit("array", replicas=3, concurrency=2, cpu=1)
    scene.tick()
    (node,) = set(scene.on("array")) & {"n2"}
    scene.join(node, cpu=16, taints=[{"key": "broken", "effect": "NoExecute"}])
    assert scene.stopping()
    assert scene.tick() == []
    assert scene.work("array").holding == 2


def test_a_restart_does_not_let_more_run() -> None:
    scene = Scene()
    scene.join("n1", cpu=16)
    scene.submit("array", replicas=6, concurrency=3)
    scene.tick()
    scene.restart()
    assert scene.tick() == []
    scene.end("array", 1)
    assert len(scene.tick()) == 1


def test_others_may_run_while_an_array_is_at_its_limit() -> None:
    scene = Scene(schedulers={"default": {"backfill": {"mode": "none"}}})
    scene.join("n1", cpu=4)
    scene.submit("array", replicas=6, concurrency=2)
    scene.submit("other", replicas=2)
    assert len(scene.tick()) == 4


@examples(30)
@given(
    seed=st.integers(0, 2**32),
    arrays=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 5)), min_size=1, max_size=4),
)
def test_the_limit_holds_at_every_moment_and_all_run_in_the_end(seed: int, arrays: list[tuple[int, int]]) -> None:
    chance = Random(seed)
    scene = Scene(seed=seed)
    scene.join("n1", cpu=4)
    scene.join("n2", cpu=3)
    for number, (replicas, concurrency) in enumerate(arrays):
        scene.submit(f"a{number}", replicas=replicas, concurrency=concurrency, retries=100)
    for _ in range(2000):
        if not scene.engine._state.work:
            break
        scene.tick(1000)
        works = list(scene.engine._state.work.values())
        for work in works:
            assert work.holding <= work.terms.concurrency
        running = [(w.name, r) for w in works for r, t in w.tasks.items() if t.state.holds_node]
        if chance.random() < 0.05:
            scene.restart()
        elif running:
            scene.end(*chance.choice(running), code=chance.choice([0, 0, 0, 1, None]))
    assert {str(record.state) for record in scene.notebook.workloads.values()} == {"succeeded"}
