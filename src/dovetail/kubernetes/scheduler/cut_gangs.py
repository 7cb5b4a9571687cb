"""Gangs that another scheduler cut by preemption: the pods that are left go too, since the gang cannot go on.

Our own preemptions take gangs whole. kube-scheduler does not know gangs: it deletes the pods that are in its way on one
node, with the condition `DisruptionTarget`. Guarantees: only pods that were on their nodes when the gang was cut are
deleted, and only if fewer than the gang's minimum are left; pods of the gang that start later are left alone.
"""

from collections.abc import Callable

from dovetail.engine.questions.pod_questions import PodQuestions
from dovetail.kubernetes.objects.gangs import gang_of
from dovetail.kubernetes.scheduler.binder import PodEviction
from dovetail.kubernetes.scheduler.pod_conditions import DISRUPTED, PREEMPTING_SCHEDULER, disrupted
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client.objects import Json, NamespacedName


class CutGangs:
    def __init__(self, tracker: PodTracker, questions: PodQuestions) -> None:
        self._tracker, self._questions = tracker, questions
        self._seen: set[str] = set()  # uids of preempted pods
        self._cut: dict[NamespacedName, dict[str, TrackedPod]] = {}  # by gang: the pods that were on nodes then

    def note(self, pod: Json, *, deleted: bool) -> None:
        """Call it before the tracker learns of the change."""
        about = pod["metadata"]
        gang, uid = gang_of(pod), about["uid"]
        if not gang or not (deleted or "deletionTimestamp" in about):
            return
        if uid not in self._seen and _is_preempted(pod):
            self._seen.add(uid)
            place = about["namespace"], gang
            left = {one.uid: one for one in self._tracker.gang(place) if one.node and one.uid != uid}
            self._cut.setdefault(place, {}).update(left)
        if deleted:
            self._seen.discard(uid)

    def evict_rest(self, put: Callable[[PodEviction, TrackedPod, str], None]) -> None:
        """Calls `put` for each pod that has to go, with the reason."""
        cut, self._cut = self._cut, {}
        for gang, pods in cut.items():
            status = self._questions.gang(*gang)
            if status is None or status.firm >= status.least:
                continue
            why = f"preempted with its gang {gang[1]}: {status.firm} pods are left, and it needs {status.least}"
            for known in pods.values():
                if self._tracker.pods.get(known.place) is known and known.node:
                    condition = disrupted(why) if known.controlled else None
                    put(PodEviction(known.id, known.namespace, known.name, known.uid, condition), known, why)


def _is_preempted(pod: Json) -> bool:
    return any(
        one.get("type") == DISRUPTED and one.get("reason") == PREEMPTING_SCHEDULER
        for one in (pod.get("status") or {}).get("conditions") or ()
    )
