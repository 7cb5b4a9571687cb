"""What a pod of ours says about its attempt: how far it has come and how it ended, from nothing but the pod.

Ended is a pod that Kubernetes calls so, one that never may run, and one that was deleted by force, by which somebody
says that it is gone. Exit codes are those of the container. A pod that a node did not take is no end of a task: it
never was one (`refused`). After an order to stop, what a signal ended was stopped; what ended by itself first keeps its
exit code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.backends.contract import Phase, Status
from dovetail.backends.kubernetes.naming import CONTAINER, END_REASON, NEVER, STATE, STOP_REASON

FIRST_SIGNAL_STATUS = 128
TIME_LIMIT_EXIT = 124  # as timeout(1) has it, and the local backend
NOT_STARTED_EXIT = 125  # as `docker run` has it
MAX_WORDS = 500

#: Why a container cannot be made, by Kubernetes' word for it; each of them may pass by itself, except the last.
STUCK = frozenset({
    "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError",
    "CreateContainerError", "CreateContainerConfigError", "RunContainerError", "InvalidImageName",
})  # fmt: skip
HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
#: A node's words for a pod that it did not take.
NOT_TAKEN = frozenset({
    "NodeAffinity", "NodeName", "NodePorts", "UnexpectedAdmissionError", "TopologyAffinityError", "PodOSNotSupported",
    "InvalidNodeInfo", "OutOfPods",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PodOutcome:
    phase: Phase
    exit_code: int | None = None
    reason: str = ""
    started: bool = False  # its container has run
    refused: bool = False  # its node did not take it: nothing of it ever ran
    stuck: str = ""  # why its container cannot be made, for now
    hopeless: bool = False  # … nor ever

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
        return PodOutcome(Phase.ENDED, None, _lost(stop_reason, "deleted by force"), started)
    if started:
        return PodOutcome(Phase.RUNNING, reason=stop_reason or "", started=True)
    waiting = state.get("waiting") or {}
    word = waiting.get("reason", "")
    if word in STUCK:
        words = f"{word}: {waiting['message']}" if waiting.get("message") else word
        return PodOutcome(Phase.ACCEPTED, stuck=_short(words), hopeless=word in HOPELESS)
    return PodOutcome(Phase.ACCEPTED, reason=stop_reason or "")


def is_never(pod: Mapping[str, Any]) -> bool:
    return (pod["metadata"].get("labels") or {}).get(STATE) == NEVER


def _ended(pod: Mapping[str, Any], terminated: Any, stop_reason: str | None, started: bool) -> PodOutcome:
    status = pod.get("status") or {}
    word, message = status.get("reason") or "", status.get("message") or ""
    why = _short(f"{word}: {message}" if word and message else word or message)
    code = None if terminated is None else int(terminated.get("exitCode", 0))
    if terminated is not None and terminated.get("reason") == "ContainerStatusUnknown":
        code = None  # the 137 that comes with it is made up
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
    if word in NOT_TAKEN or word.startswith("OutOf"):
        return PodOutcome(Phase.ENDED, None, f"the node did not take it: {why}", refused=True)
    if word:  # Evicted, NodeLost, Shutdown, Preempting, …: the node's doing, whatever the container made of it
        return PodOutcome(Phase.ENDED, None, f"lost: {why}", started)
    disrupted = _disruption(status)
    if disrupted and by_signal:
        return PodOutcome(Phase.ENDED, None, _lost(stop_reason, disrupted), started)
    if pod["metadata"].get("deletionTimestamp") and by_signal:
        return PodOutcome(Phase.ENDED, None, _lost(stop_reason, "its pod was deleted by somebody else"), started)
    if code is None:
        return PodOutcome(
            Phase.ENDED, None, f"lost: {why}" if why else "lost: its container left no exit status", started
        )
    return PodOutcome(Phase.ENDED, code, _words_of_exit(pod, terminated, code), started)


def _words_of_exit(pod: Mapping[str, Any], terminated: Mapping[str, Any], code: int) -> str:
    word = terminated.get("reason") or ""
    if word == "OOMKilled":
        limit = (pod["spec"]["containers"][0].get("resources") or {}).get("limits", {}).get("memory")
        why = f"used more memory than its limit of {limit}" if limit else "its node ran out of memory"
        return f"OOMKilled: {why}"
    if code > FIRST_SIGNAL_STATUS:
        reason = f"killed by signal {code - FIRST_SIGNAL_STATUS}"
    else:
        reason = f"exited with status {code}"
    message = str(terminated.get("message") or "").strip()
    if word not in ("", "Completed", "Error"):
        return _short(f"{word}: {message}" if message else f"{word}: {reason}")
    return reason


def _container_state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    for container in status.get("containerStatuses") or ():
        if container.get("name") == CONTAINER:
            return dict(container.get("state") or {})
    return {}


def _disruption(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return _short(f"{condition.get('reason')}: {condition.get('message')}")
    return ""


def _lost(stop_reason: str | None, otherwise: str) -> str:
    return f"lost: {otherwise}" if stop_reason is None else f"stopped: {stop_reason}"


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1] + "…"
