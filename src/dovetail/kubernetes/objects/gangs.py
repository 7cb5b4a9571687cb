"""Gangs of pods: which gang a pod belongs to, and how many pods start together.

The label of the coscheduling plugin names the gang, and the PodGroup of that name gives its size; or annotations give
both (`annotations`). Pods that succeeded count as present while the API has them: a restarted gang needs only the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dovetail.kubernetes.objects.annotations import PREFIX
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name

GANG = f"{PREFIX}gang"
GROUP_API = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
GROUP_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


def gang_in(labels: Mapping[str, str]) -> str:
    """The gang that its labels name; empty: none."""
    return next((labels[key] for key in GROUP_LABELS if labels.get(key)), "")


def gang_of(pod: Json) -> str:
    """The gang that it names, read without the rest of the pod."""
    about = pod["metadata"]
    return (about.get("annotations") or {}).get(GANG) or gang_in(about.get("labels") or {})


@dataclass(slots=True)
class Gangs:
    """The sizes that PodGroups give, and which pods of gangs have succeeded."""

    _least: dict[NamespacedName, int] = field(default_factory=dict)
    _timeout_s: dict[NamespacedName, float] = field(default_factory=dict)
    _succeeded: dict[NamespacedName, set[NamespacedName]] = field(default_factory=dict)  # pods of each gang
    _gang_of: dict[NamespacedName, NamespacedName] = field(default_factory=dict)  # the inverse

    def set_group(self, group: Json) -> bool:
        """Did anything change?"""
        place = namespaced_name(group)
        least = max(1, int((group.get("spec") or {}).get("minMember") or 1))
        self._timeout_s[place] = float((group.get("spec") or {}).get("scheduleTimeoutSeconds") or 0)
        different = self._least.get(place) != least
        self._least[place] = least
        return different

    def drop_group(self, place: NamespacedName) -> None:
        self._least.pop(place, None)
        self._timeout_s.pop(place, None)

    def timeout_s(self, place: NamespacedName) -> float:
        """How long its pods may wait for each other; 0: nobody says."""
        return self._timeout_s.get(place, 0.0)

    def succeeded(self, gang: NamespacedName, pod: NamespacedName) -> bool:
        """Was that unknown before?"""
        if pod in self._gang_of:
            return False
        self._gang_of[pod] = gang
        self._succeeded.setdefault(gang, set()).add(pod)
        return True

    def gone(self, pod: NamespacedName) -> None:
        """The API no longer has the pod."""
        gang = self._gang_of.pop(pod, None)
        if gang is not None:
            self._succeeded[gang].discard(pod)
            if not self._succeeded[gang]:
                del self._succeeded[gang]

    def least(self, place: NamespacedName, annotated: int) -> int | None:
        """How many pods, besides those that succeeded, have to start together; None: nothing gives a size."""
        least = annotated or self._least.get(place)
        return None if least is None else max(1, least - len(self._succeeded.get(place, ())))


def no_such_group(name: str) -> str:
    return (
        f"its label names the pod group {name!r}, which does not exist here: create that PodGroup, or say how many "
        f"pods start together with the annotation {PREFIX}gang-min"
    )
