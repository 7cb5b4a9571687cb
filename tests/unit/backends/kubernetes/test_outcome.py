"""How far a pod has come and how it ended, in the words that Kubernetes has for it."""

from typing import Any

import pytest

from dovetail.backends.contract import Phase
from dovetail.backends.kubernetes.naming import END_REASON, NEVER, STATE, STOP_REASON
from dovetail.backends.kubernetes.outcome import outcome_of

STARTED = "2026-01-01T00:00:00Z"


def pod(phase: str = "Pending", state: dict[str, Any] | None = None, /, **more: Any) -> dict[str, Any]:
    status = {"phase": phase, **more.pop("status", {})}
    if state is not None:
        status["containerStatuses"] = [{"name": "task", "state": state}]
    metadata = {"annotations": more.pop("annotations", {}), **more.pop("metadata", {})}
    limits = {"resources": {"limits": {"memory": "64Mi"}}}
    return {"metadata": metadata, "spec": {"containers": [limits], "activeDeadlineSeconds": 5}, "status": status}


def ended(code: int, word: str = "Error", **more: Any) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": word, "startedAt": STARTED}}
    return pod("Failed" if code else "Succeeded", state, **more)


STOPPED = {STOP_REASON: "no longer wanted"}
DELETED: dict[str, Any] = {"metadata": {"deletionTimestamp": STARTED, "deletionGracePeriodSeconds": 30}}


@pytest.mark.parametrize(
    ("found", "exit_code", "words"),
    [
        (ended(0, "Completed"), 0, "exited with status 0"),
        (ended(3), 3, "exited with status 3"),
        (ended(139), 139, "killed by signal 11"),
        (ended(137, "OOMKilled"), 137, "OOMKilled: used more memory than its limit of 64MiB"),
        (ended(128, "StartError"), 128, "StartError"),
        (ended(137, status={"reason": "Evicted", "message": "low on memory"}), None, "lost: Evicted: low on memory"),
        (ended(143, status={"reason": "DeadlineExceeded"}), 124, "its time limit of 5 s"),
        (ended(137, "ContainerStatusUnknown"), None, "lost"),
        (ended(143, annotations=STOPPED, **DELETED), None, "stopped: no longer wanted"),
        (ended(5, annotations=STOPPED, **DELETED), 5, "exited with status 5"),
        (ended(0, annotations=STOPPED, **DELETED), 0, "exited with status 0"),
        (ended(137, "OOMKilled", annotations=STOPPED), 137, "OOMKilled"),
        (ended(143, **DELETED), None, "lost: its pod was deleted by somebody else"),
        (pod("Failed", status={"reason": "NodeLost", "message": "gone"}), None, "lost: NodeLost: gone"),
        (pod("Failed", annotations={END_REASON: "could not be started: x"}, **DELETED), 125, "could not be started: x"),
    ],
)
def test_an_end_has_its_code_and_its_words(found: dict[str, Any], exit_code: int | None, words: str) -> None:
    outcome = outcome_of(found)
    assert outcome.phase is Phase.ENDED
    assert outcome.exit_code == exit_code
    assert words in outcome.reason


def test_a_taint_manager_or_a_drain_is_named() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained"}
    outcome = outcome_of(ended(143, status={"conditions": [target]}, **DELETED))
    assert (outcome.exit_code, outcome.reason) == (None, "lost: EvictionByEvictionAPI: drained")


@pytest.mark.parametrize("word", ["OutOfcpu", "OutOfmemory", "OutOfnvidia.com/gpu", "NodeAffinity"])
def test_what_a_node_did_not_take_was_never_a_task(word: str) -> None:
    outcome = outcome_of(pod("Failed", status={"reason": word, "message": "no"}))
    assert (outcome.refused, outcome.started, outcome.exit_code) == (True, False, None)


def test_a_pod_runs_when_its_container_does() -> None:
    assert outcome_of(pod()).phase is Phase.ACCEPTED
    running = outcome_of(pod("Running", {"running": {"startedAt": STARTED}}))
    assert (running.phase, running.started) == (Phase.RUNNING, True)


@pytest.mark.parametrize(("word", "hopeless"), [("ImagePullBackOff", False), ("InvalidImageName", True)])
def test_a_container_that_cannot_be_made_is_stuck_for_now_or_for_ever(word: str, hopeless: bool) -> None:
    outcome = outcome_of(pod("Pending", {"waiting": {"reason": word, "message": "not found"}}))
    assert (outcome.phase, outcome.stuck, outcome.hopeless) == (Phase.ACCEPTED, f"{word}: not found", hopeless)
    assert outcome_of(pod("Pending", {"waiting": {"reason": "ContainerCreating"}})).stuck == ""


def test_a_pod_deleted_by_force_is_gone_for_us() -> None:
    forced = {"metadata": {"deletionTimestamp": STARTED, "deletionGracePeriodSeconds": 0}}
    outcome = outcome_of(pod("Running", {"running": {"startedAt": STARTED}}, **forced))
    assert (outcome.phase, outcome.exit_code, outcome.reason) == (Phase.ENDED, None, "lost: deleted by force")


def test_a_pod_that_keeps_a_name_never_ran() -> None:
    found = pod(annotations={END_REASON: "stopped before it started: x"}, metadata={"labels": {STATE: NEVER}})
    outcome = outcome_of(found | {"metadata": {**found["metadata"], "labels": {STATE: NEVER}}})
    assert (outcome.phase, outcome.started, outcome.reason) == (Phase.ENDED, False, "stopped before it started: x")
