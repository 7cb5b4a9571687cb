"""The state and the end of an attempt, from its pod alone.

A pod has ended if Kubernetes says so, if it must never run, or if it was deleted by force. Exit codes are those of the
container. A pod that its node rejected never was a running task (`refused`). After a stop, a container that a signal
ended was stopped; one that ended by itself before keeps its exit code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.backends.contract import Phase, Status
from dovetail.backends.kubernetes.amounts import amounts_of
from dovetail.backends.kubernetes.naming import CONTAINER, END_REASON, NEVER, STATE, STOP_REASON
from dovetail.model.resources import MEMORY
from dovetail.model.text.amounts import show_bytes

FIRST_SIGNAL_STATUS = 128
TIME_LIMIT_EXIT = 124  # as timeout(1) and the local backend use it
NOT_STARTED_EXIT = 125  # as `docker run` uses it
MAX_WORDS = 500

#: Kubernetes' reasons why a container cannot be created; all but those in HOPELESS may pass.
STUCK = frozenset({
    "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError",
    "CreateContainerError", "CreateContainerConfigError", "RunContainerError", "InvalidImageName",
})  # fmt: skip
HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
#: Reasons of a node that rejected a pod.
NOT_ADMITTED = frozenset({
    "NodeAffinity", "NodeName", "NodePorts", "UnexpectedAdmissionError", "TopologyAffinityError", "PodOSNotSupported",
    "InvalidNodeInfo", "OutOfPods",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PodOutcome:
    phase: Phase
    exit_code: int | None = None
    reason: str = ""
    started: bool = False  # its container has run
    refused: bool = False  # its node rejected it: nothing of it ever ran
    stuck: str = ""  # why its container cannot be created at the moment
    hopeless: bool = False  # … and never will be
    waits: str = ""  # the word of Kubernetes for what it waits for, if its container is not stuck

    @property
    def ended(self) -> bool:
        return self.phase is Phase.ENDED

    def status(self) -> Status:
        return Status(self.phase, self.exit_code, self.reason or self.stuck)


def outcome_of(pod: Mapping[str, Any]) -> PodOutcome:
    metadata, status = pod["metadata"], pod.get("status") or {}
    annotations = metadata.get("annotations") or {}
    if is_never(pod):
        return PodOutcome(Phase.ENDED, None, annotations.get(END_REASON) or "it was stopped before it began")
    stop_reason = annotations.get(STOP_REASON)
    state = _container_state(status)
    started = "running" in state or bool((state.get("terminated") or {}).get("startedAt"))
    phase = status.get("phase")
    if phase in ("Succeeded", "Failed"):
        return _ended(pod, state.get("terminated"), stop_reason, started)
    if metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds") == 0:
        return PodOutcome(Phase.ENDED, None, _stopped_or_lost(stop_reason, "deleted by force"), started)
    if started:
        return PodOutcome(Phase.RUNNING, reason=stop_reason or "", started=True)
    waiting = state.get("waiting") or {}
    word = waiting.get("reason", "")
    if word in STUCK:
        words = f"{word}: {waiting['message']}" if waiting.get("message") else word
        return PodOutcome(Phase.ACCEPTED, stuck=short(words), hopeless=word in HOPELESS)
    return PodOutcome(Phase.ACCEPTED, reason=stop_reason or "", waits=word or _not_scheduled(status))


def is_never(pod: Mapping[str, Any]) -> bool:
    return (pod["metadata"].get("labels") or {}).get(STATE) == NEVER


def _ended(pod: Mapping[str, Any], terminated: Any, stop_reason: str | None, started: bool) -> PodOutcome:
    status = pod.get("status") or {}
    word, message = status.get("reason") or "", status.get("message") or ""
    why = short(f"{word}: {message}" if word and message else word or message)
    code = None if terminated is None else int(terminated.get("exitCode", 0))
    if terminated is not None and terminated.get("reason") == "ContainerStatusUnknown":
        code = None  # the exit code 137 is made up by Kubernetes
    if status.get("phase") == "Succeeded":
        return PodOutcome(Phase.ENDED, code or 0, f"exited with status {code or 0}", started=True)
    if word == "DeadlineExceeded":
        limit_s = pod["spec"].get("activeDeadlineSeconds")
        words = f"stopped: it ran longer than its time limit of {limit_s} s"
        return PodOutcome(Phase.ENDED, TIME_LIMIT_EXIT, words, started)
    by_signal = code is None or code >= FIRST_SIGNAL_STATUS
    stuck = (pod["metadata"].get("annotations") or {}).get(END_REASON)
    if stuck is not None and by_signal:
        return PodOutcome(Phase.ENDED, None if started else NOT_STARTED_EXIT, stuck, started)
    if stop_reason is not None and by_signal and (terminated or {}).get("reason") != "OOMKilled":
        return PodOutcome(Phase.ENDED, None, f"stopped: {stop_reason}", started)
    if word in NOT_ADMITTED or word.startswith("OutOf"):
        return PodOutcome(Phase.ENDED, None, f"the node did not take it: {why}", refused=True)
    if word:  # Evicted, NodeLost, Shutdown, Preempting, …: the node's doing, whatever the container made of it
        return PodOutcome(Phase.ENDED, None, f"lost: {why}", started)
    disrupted = _disruption(status)
    if disrupted and by_signal:
        return PodOutcome(Phase.ENDED, None, _stopped_or_lost(stop_reason, disrupted), started)
    if pod["metadata"].get("deletionTimestamp") and by_signal:
        return PodOutcome(
            Phase.ENDED, None, _stopped_or_lost(stop_reason, "its pod was deleted by somebody else"), started
        )
    if code is None:
        return PodOutcome(
            Phase.ENDED, None, f"lost: {why}" if why else "lost: its container left no exit status", started
        )
    return PodOutcome(Phase.ENDED, code, _exit_reason(pod, terminated, code), started)


def _exit_reason(pod: Mapping[str, Any], terminated: Mapping[str, Any], code: int) -> str:
    word = terminated.get("reason") or ""
    if word == "OOMKilled":
        limits = (pod["spec"]["containers"][0].get("resources") or {}).get("limits") or {}
        limit = amounts_of(limits, "").get(MEMORY)
        why = f"used more memory than its limit of {show_bytes(limit)}" if limit else "its node ran out of memory"
        return f"OOMKilled: {why}"
    if code > FIRST_SIGNAL_STATUS:
        reason = f"killed by signal {code - FIRST_SIGNAL_STATUS}"
    else:
        reason = f"exited with status {code}"
    message = str(terminated.get("message") or "").strip()
    if word not in ("", "Completed", "Error"):
        return short(f"{word}: {message}" if message else f"{word}: {reason}")
    return reason


def _container_state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    for container in status.get("containerStatuses") or ():
        if container.get("name") == CONTAINER:
            return dict(container.get("state") or {})
    return {}


def _not_scheduled(status: Mapping[str, Any]) -> str:
    """Why the cluster's scheduler gives it no node, where it has to."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return short(f"{condition.get('reason')}: {condition.get('message')}")
    return ""


def _disruption(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return short(f"{condition.get('reason')}: {condition.get('message')}")
    return ""


def _stopped_or_lost(stop_reason: str | None, otherwise: str) -> str:
    return f"lost: {otherwise}" if stop_reason is None else f"stopped: {stop_reason}"


def short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1] + "…"
