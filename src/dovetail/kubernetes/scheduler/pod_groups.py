"""The status of PodGroups, as the controller of the coscheduling plugin writes it, and the limit of their scheduling.

Counted from the pods that the watch reports: `phase`, `running`, `succeeded`, `failed`, `occupiedBy`, and since when
its pods have all been there (`scheduleStartTime`). A condition `Scheduled` says the same in words where the resource
has conditions. A group that is not scheduled within `scheduleTimeoutSeconds` gives up what is cleared for it, with an
Event, and is tried again after a pause.

Guarantees: a status is written only if it changed; `Finished` and `Failed` are final. What may not be written is logged
once, and pods are scheduled all the same.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

from dovetail.kubernetes.objects.gangs import GROUP_API, gang_in
from dovetail.kubernetes.objects.pods import SUCCEEDED
from dovetail.kubernetes.scheduler.pod_conditions import condition
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import KubernetesApiError, ObjectNotFound
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name, seconds
from dovetail.kubernetes_client.paths import one
from dovetail.kubernetes_client.recorder import Recorder

PENDING, SCHEDULING, RUNNING, FINISHED, FAILED = "Pending", "Scheduling", "Running", "Finished", "Failed"
EVERY_S = 0.5
PAUSE_S = 10.0
"""A group that ran out of time is tried again after this, as a pod that could not be scheduled."""
_API = GROUP_API.rpartition("/")[0]
_log = logging.getLogger(__name__)


class PodGroups:
    def __init__(self, api: Api, tracker: PodTracker, recorder: Recorder, now: Callable[[], float] = time.time) -> None:
        self._api, self._tracker, self._recorder, self._now = api, tracker, recorder, now
        self._groups: dict[NamespacedName, Json] = {}
        self._pods: dict[NamespacedName, dict[NamespacedName, Json]] = {}  # by group: its pods that are not terminating
        self._group_of: dict[NamespacedName, NamespacedName] = {}  # by pod
        self._began: dict[NamespacedName, float] = {}  # groups whose pods are all there and wait: since when
        self._has_conditions = True
        self._dirty: set[NamespacedName] = set()
        self._told = ""  # the error that was logged last

    # --- what the watches report -----------------------------------------------------------------------------

    def set_group(self, group: Json) -> None:
        place, status = namespaced_name(group), group.get("status") or {}
        if place not in self._groups and status.get("phase") == SCHEDULING:
            self._began[place] = seconds(status.get("scheduleStartTime"), self._now())
        self._groups[place] = group
        self._dirty.add(place)

    def drop_group(self, place: NamespacedName) -> None:
        self._groups.pop(place, None)
        self._began.pop(place, None)

    def set_pod(self, pod: Json) -> None:
        about = pod["metadata"]
        name, place = gang_in(about.get("labels") or {}), namespaced_name(pod)
        if not name or "deletionTimestamp" in about:
            self.drop_pod(place)
            return
        group = self._group_of[place] = (place[0], name)
        self._pods.setdefault(group, {})[place] = pod
        self._dirty.add(group)

    def drop_pod(self, place: NamespacedName) -> None:
        group = self._group_of.pop(place, None)
        if group is not None:
            pods = self._pods[group]
            del pods[place]
            if not pods:
                del self._pods[group]
            self._dirty.add(group)

    # --- writing ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._end_overdue()
            due, self._dirty = sorted(self._dirty & self._groups.keys()), set()
            for place in due:
                await self._write(place)
            await asyncio.sleep(EVERY_S)

    async def _write(self, place: NamespacedName) -> None:
        group = self._groups[place]
        before = group.get("status") or {}
        status = self.status_of(place)
        if not self._has_conditions:
            del status["conditions"]
        if status == {name: before.get(name) for name in status}:
            return
        namespace, name = place
        path = one(_API, "podgroups", name, namespace)
        try:
            try:
                self._groups[place] = await self._api.patch(f"{path}/status", {"status": status})
            except ObjectNotFound:  # defined without a status of its own
                self._groups[place] = await self._api.patch(path, {"status": status})
            self._has_conditions = "conditions" in (self._groups[place].get("status") or status)
        except ObjectNotFound:
            return  # it is gone
        except KubernetesApiError as error:
            self._dirty.add(place)
            if str(error) != self._told:
                _log.warning("the status of PodGroups cannot be written, goes on without: %s", error)
            self._told = str(error)

    def status_of(self, place: NamespacedName) -> JsonObject:
        """Its status as of now."""
        group, pods = self._groups[place], self._pods.get(place, {})
        before = group.get("status") or {}
        least = max(1, int((group.get("spec") or {}).get("minMember") or 1))
        phases = [(pod.get("status") or {}).get("phase") for pod in pods.values()]
        counts = {
            "running": phases.count("Running"),
            "succeeded": phases.count(SUCCEEDED),
            "failed": phases.count("Failed"),
        }
        phase = before.get("phase") if before.get("phase") in (FINISHED, FAILED) else _phase(counts, len(pods), least)
        found: JsonObject = {"phase": phase, **counts}
        if phase == SCHEDULING:
            found["scheduleStartTime"] = _moment(self._began.setdefault(place, self._now()))
        else:
            self._began.pop(place, None)
        owners = sorted(
            f"{place[0]}/{owner['name']}"
            for pod in list(pods.values())[:1]
            for owner in pod["metadata"].get("ownerReferences") or ()
        )
        if owners:
            found["occupiedBy"] = ",".join(owners)
        return found | {"conditions": [self._condition(place, before, least)]}

    def _condition(self, place: NamespacedName, before: Json, least: int) -> JsonObject:
        pods = self._pods.get(place, {}).values()
        bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
        words = f"{bound} of the {least} pods that have to start together have a node"
        if bound >= least:
            found = condition("Scheduled", "True", "Scheduled", words)
        elif len(pods) < least:
            words = f"{len(pods)} of the {least} pods that have to start together are there"
            found = condition("Scheduled", "False", "PodsMissing", words)
        elif place in self._tracker.paused_gangs:
            found = condition("Scheduled", "False", "ScheduleTimeout", self._tracker.paused_gangs[place])
        else:
            found = condition("Scheduled", "False", "Unschedulable", words)
        for old in before.get("conditions") or ():
            if old.get("type") == "Scheduled" and old.get("status") == found["status"]:
                found["lastTransitionTime"] = old.get("lastTransitionTime") or found["lastTransitionTime"]
        return found

    # --- out of time -----------------------------------------------------------------------------------------

    def _end_overdue(self) -> None:
        now = self._now()
        for place, began in self._began.items():
            group = self._groups[place]
            limit_s = (group.get("spec") or {}).get("scheduleTimeoutSeconds")
            if not limit_s or now - began < float(limit_s) or place in self._tracker.paused_gangs:
                continue
            if any(pod.waits for pod in self._tracker.gang(place)):
                self._pause(place, group, int(limit_s))

    def _pause(self, place: NamespacedName, group: Json, limit_s: int) -> None:
        why = f"its group {place[1]} was not scheduled within {limit_s} s; it is tried again in {PAUSE_S:.0f} s"
        self._tracker.pause_gang(place, why)
        about = {"apiVersion": group.get("apiVersion"), "kind": "PodGroup", "namespace": place[0], "name": place[1]}
        about["uid"] = group["metadata"]["uid"]
        self._recorder.record(about, "Timeout", f"not scheduled within {limit_s} s", "Scheduling", "Warning")
        self._dirty.add(place)
        asyncio.get_running_loop().call_later(PAUSE_S, self._go_on, place)

    def _go_on(self, place: NamespacedName) -> None:
        self._tracker.resume_gang(place)
        if place in self._began:
            self._began[place] = self._now()
        self._dirty.add(place)


def _phase(counts: dict[str, int], there: int, least: int) -> str:
    alive = counts["running"] + counts["succeeded"]
    if counts["succeeded"] >= least:
        return FINISHED
    if counts["failed"] and alive + counts["failed"] >= least:
        return FAILED
    if there < least:
        return PENDING
    return RUNNING if alive >= least else SCHEDULING


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
