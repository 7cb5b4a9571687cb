"""When a node is quarantined: the rule of `engine/lifecycle/quarantine.py` written down a second time, in its plainest
form, over any sequence of failures and starts."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.engine.scene import Scene

from dovetail.model.command import attempt_key
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.model.task import TaskId

NODE, UNKNOWN = FailureCause.NODE, FailureCause.UNKNOWN
FAILURES, WORKLOADS = 4, 3
#: Five workloads of three owners.
OWNERS = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "c1": "c"}
Step = tuple[str, FailureCause | None]  # None: it starts, and fails later

steps = st.lists(st.tuples(st.sampled_from(sorted(OWNERS)), st.sampled_from([None, *FailureCause])), max_size=14)


def should_be_quarantined(seen: list[Step]) -> bool:
    """By what happened since a task last started there."""
    began = max((at for at, (_, cause) in enumerate(seen) if cause is None), default=-1)
    counted = [(name, cause) for name, cause in seen[began + 1 :] if cause in (NODE, UNKNOWN)]
    names = {name for name, _ in counted}
    unrelated = len(names) >= WORKLOADS and len({OWNERS[name] for name in names}) >= 2
    return unrelated or sum(cause is NODE for _, cause in counted) >= FAILURES


@settings(max_examples=60, deadline=None)
@given(steps)
def test_a_node_is_quarantined_for_its_own_failures_and_for_what_unrelated_workloads_meet(happened: list[Step]) -> None:
    scene = Scene(
        quarantine={"failures": FAILURES, "workloads": WORKLOADS},
        max_bind_failures=100,
        backoff={"first": 0.1, "most": 0.1, "jitter": 0},
    )
    scene.join("n1", cpu=100)
    for name, owner in OWNERS.items():
        scene.submit(name, namespace=owner, retries=100)
    for number, (name, cause) in enumerate(happened, 1):
        scene.tick(1)
        task = TaskId(scene.ids[name], 0)
        key = attempt_key(task, scene.work(name).task(0).attempt)
        if cause is None:
            scene.hear(TaskStarted(task, key))
            scene.hear(TaskFinished(task, key, 1, "exit status 1"))
        else:
            scene.hear(BindFailed(task, key, "no", cause))
        quarantined = "n1" in scene.engine._state.cluster.status.quarantines
        assert quarantined == should_be_quarantined(happened[:number])
        if quarantined:
            return
