"""Makes and ends the pods of attempts, in one namespace.

Guarantees: an attempt has at most one pod, for ever, because the key names it. One that must never run gets a pod that
only reserves its name. Every call sees the effect of earlier ones: it asks the API server, not the watch.
"""

from dataclasses import replace
from typing import Any

from dovetail.backends.contract import Assignment, Refusal, Status, WorkloadRefusal
from dovetail.backends.kubernetes.attempts import PodAttempts
from dovetail.backends.kubernetes.failures import FAILURES
from dovetail.backends.kubernetes.manifest import never_of, pod_of
from dovetail.backends.kubernetes.naming import OWNER, STOP_REASON, pod_name
from dovetail.backends.kubernetes.outcome import outcome_of
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.backends.kubernetes.volumes import claims_of, refuse_unusable_claims
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import BadRequest, Forbidden, ObjectConflict, ObjectInvalid, ObjectNotFound
from dovetail.kubernetes_client.paths import pod
from dovetail.kubernetes_client.pods import create, delete

TRIES = 10


class PodControl:
    """`owner`: marks our pods."""

    def __init__(
        self, api: Api, namespace: str, owner: str, settings: KubernetesSettings, attempts: PodAttempts
    ) -> None:
        self._api, self._namespace, self._owner = api, namespace, owner
        self._settings, self._attempts = settings, attempts
        self._traceless: set[str] = set()

    def name(self, key: str) -> str:
        return pod_name(self._settings.name_prefix, self._owner, key)

    async def status(self, key: str) -> Status:
        try:
            found = await self._api.get(pod(self._namespace, self.name(key)))
        except (ObjectNotFound, ValueError):
            raise KeyError(key) from None
        known = self._attempts.note(found, report=False)
        return (known.outcome if known is not None else outcome_of(found)).status()

    # --- making ----------------------------------------------------------------------------------------------

    async def bind(self, assignment: Assignment) -> None:
        try:
            body = pod_of(assignment, self._owner, assignment.node, self._settings)
        except ValueError as error:
            raise WorkloadRefusal(str(error)) from None
        found, made = await self._create(body, claims_of(assignment.spec.run.volumes))
        if (found["metadata"].get("labels") or {}).get(OWNER) != self._owner:
            raise Refusal(f"there is a pod {found['metadata']['name']} already that is not ours")
        known = self._attempts.note(found, report=not made)
        if known is not None and known.never:
            raise Refusal(f"attempt {assignment.key} will not run: {known.outcome.reason}")

    async def _create(self, body: dict[str, Any], claims: list[str]) -> tuple[dict[str, Any], bool]:
        try:
            scheduled = self._settings.scheduler is not None
            await refuse_unusable_claims(self._api, self._namespace, claims, scheduled=scheduled)
            return await create(self._api, self._namespace, body)
        except (ObjectInvalid, BadRequest, Forbidden, Refusal) as error:
            if isinstance(error, Forbidden) and 'User "' in str(error):
                raise  # we may not create pods at all: that is not about this pod
            # Claims, quotas and policies are checked before names: the pod may exist from an earlier call.
            try:
                return await self._api.get(pod(self._namespace, body["metadata"]["name"])), False
            except ObjectNotFound:
                if isinstance(error, Refusal):
                    raise error from None
                raise FAILURES.refusal(f"the cluster does not take it: {error}") from None

    # --- ending ----------------------------------------------------------------------------------------------

    async def stop(self, key: str, reason: str) -> None:
        name = self.name(key)
        for _ in range(TRIES):
            known = self._attempts.get(key)
            if known is not None and known.outcome.ended:
                # The caller of `stop` waits for an end, also if it never started.
                known.outcome = replace(known.outcome, refused=False)
                self._attempts.report_again(known)
                return
            try:
                found = await self._api.get(pod(self._namespace, name))
                if (STOP_REASON not in (found["metadata"].get("annotations") or {})) and not outcome_of(found).ended:
                    uid = found["metadata"]["uid"]
                    note = {"metadata": {"uid": uid, "annotations": {STOP_REASON: reason}}}
                    found = await self._api.patch(pod(self._namespace, name), note)
                if not outcome_of(found).ended:
                    await delete(self._api, self._namespace, name, uid=found["metadata"]["uid"])
                self._attempts.note(found, report=True)
                return
            except ObjectNotFound:
                if await self._never(key, f"stopped before it started: {reason}"):
                    return
            except ObjectConflict:
                continue  # it was changed meanwhile
        raise RuntimeError(f"attempt {key} could not be stopped: its pod {name} changes all the time; ask again")

    async def kill(self, key: str) -> None:
        """It was told to stop, and gets no grace."""
        await delete(self._api, self._namespace, self.name(key), grace_s=0)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            known = self._attempts.get(assignment.key)
            if known is not None:
                self._attempts.report_again(known)
            else:
                self._traceless.add(assignment.key)
        await self.end_traceless()

    async def end_traceless(self) -> None:
        """An attempt without a pod is lost and must never run. Repeated later if the cluster cannot be asked now."""
        for key in list(self._traceless):
            await self._never(key, "lost: no pod of it is left in the cluster")
            self._traceless.discard(key)

    async def _never(self, key: str, reason: str) -> bool:
        """Prevent this attempt from ever running. False: it has a pod."""
        found, made = await create(self._api, self._namespace, never_of(key, self._owner, reason, self._settings))
        self._attempts.note(found, report=True)
        return made
