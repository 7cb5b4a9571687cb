"""Whatever policies come, change and go: what is in force is what a fresh look would say, a restart finds the same, and
nobody who could run is forgotten."""

from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene

from dovetail.engine.state.policies import Policies
from dovetail.engine.state.work import QueuePlace
from dovetail.model.event import PolicyRemoved, PolicySet
from dovetail.model.policy import Policy

NAMES = st.sampled_from(["p", "q", "r"])
SPACES = ["a", "b"]
TEXTS = ['node.labels.zone == "east"', 'node.labels.zone == "west"', 'node.labels.zone == "mars"', "node.load < 0.6"]
BUSY = {"when": "cluster.utilisation.cpu > 0.5", "until": "cluster.utilisation.cpu < 0.3"}
CROWDED = {"when": "cluster.waiting > 1"}
REACHES: list[dict[str, list[str]]] = [
    {},
    {"namespaces": ["*"]},
    {"namespaces": ["a"]},
    {"services": ["s"]},
    {"services": ["b/s"]},
    {"workloads": ["w1"]},
]


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    demand = draw(st.sampled_from(["require", "prefer", "avoid"]))
    found: dict[str, Any] = {demand: draw(st.sampled_from(TEXTS)), "applies_to": draw(st.sampled_from(REACHES))}
    if draw(st.booleans()):
        found["adjust"] = [draw(st.sampled_from([BUSY, CROWDED])) | {"off": True}]
    if draw(st.booleans()):
        found["conflicts"] = ["licence"]
    return found


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), NAMES, policies()),
        st.tuples(st.just("remove"), NAMES, st.none()),
        st.tuples(st.just("submit"), st.sampled_from(SPACES), st.tuples(st.booleans(), st.integers(1, 3))),
        st.tuples(st.just("tick"), st.floats(0, 3), st.none()),
        st.tuples(st.just("end"), st.integers(0, 20), st.none()),
        st.tuples(st.just("restart"), st.none(), st.none()),
    ),
    max_size=25,
)


def fresh_look(scene: Scene) -> Policies:
    """The same policies with the same adjustments, and nothing remembered."""
    now = scene.engine._state.policies
    found = Policies()
    for name, ruling in now.by_name.items():
        found.set(ruling.policy, ruling.version, ruling.at).active = dict(ruling.active)
        assert name in found.by_name
    return found


def step(scene: Scene, kind: str, what: Any, more: Any) -> None:
    state = scene.engine._state
    if kind == "set":
        scene.hear(PolicySet(Policy.model_validate({"name": what, **more}), state.policies.next_version(what)))
    elif kind == "remove":
        scene.hear(PolicyRemoved(what, state.policies.next_version(what)))
    elif kind == "submit":
        named = ["p"] if more[0] and "p" in state.policies.by_name else []
        fields = {"namespace": what, "service": "s" if more[1] == 1 else None, "policies": named}
        scene.submit(f"w{len(scene.ids)}", more[1], **fields)
    elif kind == "tick":
        scene.tick(what)
    elif kind == "end":
        running = [work.name for work in state.work.values() if work.holding]
        if running:
            scene.end(running[what % len(running)])
    else:
        scene.restart()


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_what_is_in_force_follows_every_change_and_nobody_is_forgotten(steps: list[tuple[str, Any, Any]]) -> None:
    scene = Scene()
    scene.join("e1", 6, labels={"zone": "east"})
    scene.join("w1", 6, labels={"zone": "west"})
    for kind, what, more in steps:
        step(scene, kind, what, more)
        expected = fresh_look(scene)
        for work in scene.engine._state.work.values():
            assert work.shape == expected.effective_shape(work.terms, work.namespace, work.name)
            assert work.queue_place is not QueuePlace.NOWHERE or not work.can_start
    before = {work.id: work.shape for work in scene.engine._state.work.values()}
    scene.restart()
    assert {work.id: work.shape for work in scene.engine._state.work.values()} == before
    for work in list(scene.engine._state.work.values()):
        if work.holding:
            scene.end(work.name)
    for name in list(scene.engine._state.policies.by_name):
        scene.hear(PolicySet(Policy.model_validate({"name": name, "prefer": "true"}), 1000))
    for _ in range(100):  # what fits runs and ends, until nobody is left
        scene.tick(5)
        running = [work.name for work in scene.engine._state.work.values() if work.holding]
        if not running:
            break
        for name in running:
            scene.end(name)
    assert not scene.engine._state.work
