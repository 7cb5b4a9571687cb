"""Regular work on pods: removes old ones, ends stuck ones, and measures the use of nodes."""

import contextlib
import logging

from dovetail.backends.kubernetes.amounts import amounts_of
from dovetail.backends.kubernetes.attempts import PodAttempt, PodAttempts
from dovetail.backends.kubernetes.naming import END_REASON, FINALIZER
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.backends.retention import to_remove
from dovetail.kubernetes_client.api import JSON_PATCH, Api
from dovetail.kubernetes_client.errors import (
    Forbidden,
    KubernetesApiError,
    ObjectConflict,
    ObjectInvalid,
    ObjectNotFound,
    ServerTrouble,
)
from dovetail.kubernetes_client.paths import METRICS, collection, pod
from dovetail.kubernetes_client.pods import delete
from dovetail.model.resources import CPU, MEMORY, Amounts

_log = logging.getLogger(__name__)


async def remove_old(api: Api, namespace: str, attempts: PodAttempts, settings: KubernetesSettings, now: float) -> int:
    """Remove pods whose end was reported, beyond what the settings keep; returns how many."""
    reported = {attempt.key: attempt for attempt in attempts if attempt.end_reported}
    ended_at = {key: attempt.ended_at for key, attempt in reported.items() if attempt.ended_at is not None}
    surplus = to_remove(ended_at, settings.keep_pods, settings.keep_for_s, now)
    for key in surplus:
        await remove(api, namespace, reported[key])
        attempts.forget(reported[key])
    return len(surplus)


async def remove(api: Api, namespace: str, attempt: PodAttempt) -> None:
    """Remove the pod, and with it the record of the attempt."""
    try:
        if not await delete(api, namespace, attempt.name, uid=attempt.uid, grace_s=0 if attempt.never else None):
            return
        # Remove only our finalizer. The test op makes sure that the list has not changed meanwhile.
        found = await api.get(pod(namespace, attempt.name))
        finalizers = found["metadata"].get("finalizers") or []
        if found["metadata"]["uid"] == attempt.uid and FINALIZER in finalizers:
            at = f"/metadata/finalizers/{finalizers.index(FINALIZER)}"
            steps = [{"op": "test", "path": at, "value": FINALIZER}, {"op": "remove", "path": at}]
            await api.patch(pod(namespace, attempt.name), steps, kind=JSON_PATCH)
    except (ObjectNotFound, ObjectConflict, ObjectInvalid):
        pass  # it is gone, or it is another pod by now


async def end_stuck(api: Api, namespace: str, attempts: PodAttempts, patience_s: float, now: float) -> None:
    """Delete pods whose container cannot be created for `patience_s`: their attempts have failed for that reason."""
    for attempt in attempts:
        outcome = attempt.outcome
        if attempt.stuck_since is None or attempt.stopping or not outcome.stuck:
            continue
        if outcome.hopeless or now - attempt.stuck_since >= patience_s:
            words = {END_REASON: f"could not be started: {outcome.stuck}"}
            with contextlib.suppress(ObjectNotFound, ObjectConflict):
                await api.patch(pod(namespace, attempt.name), {"metadata": {"uid": attempt.uid, "annotations": words}})
                await delete(api, namespace, attempt.name, uid=attempt.uid)


class Meter:
    """The measured use of nodes, if the cluster has a metrics API."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._missing = False

    async def measure(self) -> dict[str, Amounts]:
        """By node; empty without a metrics API."""
        try:
            items = await self._api.items(collection(METRICS, "nodes"))
        except (ObjectNotFound, Forbidden, ServerTrouble) as error:
            if not self._missing:
                _log.info("what nodes really use is not known: no metrics API (%s)", error)
            self._missing = True
            return {}
        except KubernetesApiError:
            return {}
        self._missing = False
        found: dict[str, Amounts] = {}
        for item in items:
            usage = {name: text for name, text in (item.get("usage") or {}).items() if name in (CPU, MEMORY)}
            found[item["metadata"]["name"]] = amounts_of(usage, "")
        return found
