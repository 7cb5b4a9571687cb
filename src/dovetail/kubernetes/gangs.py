"""Pods that start together: which gang a pod is in, and of how many it has to be.

A gang is named by the label of the coscheduling plugin, and its size by the PodGroup of that name; or both by
annotations of ours (`annotations`). Pods that have done their work count as there, as long as the API knows them: one
that is made anew needs only those that are left.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.kubernetes.annotations import PREFIX

Json = Mapping[str, Any]
Place = tuple[str, str]  # namespace, name

GANG = f"{PREFIX}gang"
GROUP_API = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
GROUP_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


def gang_in(labels: Mapping[str, str]) -> str:
    """The gang that its labels name; empty: none."""
    if not labels:
        return ""
    return next((labels[key] for key in GROUP_LABELS if labels.get(key)), "")


def gang_of(pod: Json) -> str:
    """The gang that it names, without reading anything else of it."""
    about = pod["metadata"]
    return (about.get("annotations") or {}).get(GANG) or gang_in(about.get("labels") or {})


@dataclass(slots=True)
class Gangs:
    """What PodGroups say, and which pods of gangs have done their work."""

    _least: dict[Place, int] = field(default_factory=dict)
    _succeeded: dict[Place, set[Place]] = field(default_factory=dict)  # pods of each gang
    _gang_of: dict[Place, Place] = field(default_factory=dict)  # the inverse

    def set_group(self, group: Json) -> bool:
        """Whether anything is different now."""
        about = group["metadata"]
        place = about["namespace"], about["name"]
        least = max(1, int((group.get("spec") or {}).get("minMember") or 1))
        different = self._least.get(place) != least
        self._least[place] = least
        return different

    def drop_group(self, place: Place) -> None:
        self._least.pop(place, None)

    def succeeded(self, gang: Place, pod: Place) -> bool:
        """Whether that is news."""
        if pod in self._gang_of:
            return False
        self._gang_of[pod] = gang
        self._succeeded.setdefault(gang, set()).add(pod)
        return True

    def gone(self, pod: Place) -> None:
        """The API knows it no longer."""
        gang = self._gang_of.pop(pod, None)
        if gang is not None:
            self._succeeded[gang].discard(pod)
            if not self._succeeded[gang]:
                del self._succeeded[gang]

    def least(self, place: Place, annotated: int) -> int | None:
        """How many of it, beyond those that have succeeded, have to start together; None: nobody says."""
        least = annotated or self._least.get(place)
        return None if least is None else max(1, least - len(self._succeeded.get(place, ())))


def no_such_group(name: str) -> str:
    return (
        f"its label names the pod group {name!r}, which does not exist here: create that PodGroup, or say how many "
        f"pods start together with the annotation {PREFIX}gang-min"
    )
