"""Capacity held for pods that are planned or being bound.

kube-scheduler counts a pod on its node as soon as it has decided; we learn of it when we are asked to bind it, or from
the watch. A pod of a gang counts on its planned node from the plan on, any other pod from the request to bind it. Both
count until the watch shows the pod bound or gone, or until kube-scheduler has not asked about it for a while. The
engine does not learn of it: held pods are assumed in a trial, for one question at a time.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from dovetail.engine.questions.pod_answers import AssumedPod, PodQuery
from dovetail.engine.questions.pod_questions import PodQuestions
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client.objects import NamespacedName


@dataclass(slots=True)
class HeldPod:
    """`gang`: the gang that it is planned with, None for a single pod. `binding`: kube-scheduler asked to bind it."""

    place: NamespacedName
    uid: str
    node: str
    pod: PodQuery
    since_s: float
    until_s: float
    gang: NamespacedName | None = None
    binding: bool = False

    @property
    def assumed(self) -> AssumedPod:
        return AssumedPod(self.node, self.pod, self.since_s)


class HeldPods:
    def __init__(self, questions: PodQuestions, tracker: PodTracker) -> None:
        self._questions, self._tracker = questions, tracker
        self._kept: dict[NamespacedName, HeldPod] = {}
        self._of_gang: dict[NamespacedName, dict[NamespacedName, HeldPod]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, place: NamespacedName) -> HeldPod | None:
        return self._kept.get(place)

    def of_gang(self, gang: NamespacedName) -> dict[NamespacedName, HeldPod]:
        return self._of_gang.get(gang, {})

    def keep(self, kept: HeldPod) -> None:
        self.drop(kept.place)
        self._kept[kept.place] = kept
        if kept.gang is not None:
            self._of_gang.setdefault(kept.gang, {})[kept.place] = kept

    def drop(self, place: NamespacedName) -> None:
        kept = self._kept.pop(place, None)
        if kept is not None and kept.gang is not None:
            fellows = self._of_gang[kept.gang]
            del fellows[place]
            if not fellows:
                del self._of_gang[kept.gang]

    def drop_plan(self, gang: NamespacedName) -> None:
        """Pods that are being bound stay held."""
        for kept in list(self.of_gang(gang).values()):
            if not kept.binding:
                self.drop(kept.place)

    def prolong(self, gang: NamespacedName, until_s: float) -> None:
        for kept in self.of_gang(gang).values():
            kept.until_s = until_s

    def settle(self, now: float) -> list[HeldPod]:
        """Drops pods that the watch reported bound or gone, and those that expired; returns the expired."""
        lapsed = []
        for place, kept in list(self._kept.items()):
            known = self._tracker.pods.get(place)
            if known is None or known.uid != kept.uid or known.node:
                self.drop(place)
            elif now > kept.until_s:
                self.drop(place)
                lapsed.append(kept)
        return lapsed

    def counted(
        self, priority: int, *, but: NamespacedName | None = None, but_gang: NamespacedName | None = None
    ) -> AbstractContextManager[None]:
        """A trial in which all of it is taken, except that of one pod, or what is planned of one gang. What is only
        planned, and for pods less urgent than this priority, blocks nobody."""
        counted = [kept for kept in self._kept.values() if self._counts(kept, priority, but, but_gang)]
        return self._questions.assume([kept.assumed for kept in counted])

    @staticmethod
    def _counts(kept: HeldPod, priority: int, but: NamespacedName | None, but_gang: NamespacedName | None) -> bool:
        if kept.binding:
            return kept.place != but
        own = kept.place == but or (kept.gang is not None and kept.gang == but_gang)
        return not own and kept.pod.priority >= priority


def held_pod(known: TrackedPod, node: str, now: float, until_s: float, gang: NamespacedName | None = None) -> HeldPod:
    """For a pod that was read."""
    assert known.meaning is not None
    return HeldPod(known.place, known.uid, node, known.meaning.query, now, until_s, gang)
