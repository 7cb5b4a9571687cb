"""Leader election by a Lease (coordination.k8s.io/v1), compatible with everything that uses one.

Guarantees, if clocks *run* alike, however they are set: no two lead at once. No time written in the Lease is compared
with our clock. A candidate takes the Lease only after it has seen it unchanged for its whole duration, by its own
clock; a leader stops when it could not renew for `renew_within_s`, which is less. Writes carry the version that was
read, so of two candidates at once one fails.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import KubernetesApiError, ObjectConflict, ObjectNotFound
from dovetail.kubernetes_client.paths import LEASES, collection, one
from dovetail.kubernetes_client.tasks import cancel

_log = logging.getLogger(__name__)


class LeadershipLost(Exception):
    """The lease could not be renewed in time, or another has it: everything that only a leader may do has to end."""


@dataclass(frozen=True, slots=True)
class Pace:
    """`lease_s` > `renew_within_s` > `retry_s`, with a margin between them; the defaults are those of Kubernetes."""

    lease_s: int = 15
    renew_within_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_s > self.renew_within_s > self.retry_s > 0:
            raise ValueError(
                f"a lease of {self.lease_s} s, renewed within {self.renew_within_s} s, tried every {self.retry_s} s "
                "cannot be held: each has to be longer than the next"
            )


class Election:
    """One candidate. `identity` is unique, also among processes of one machine."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str,
        identity: str,
        pace: Pace | None = None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._place = namespace, name
        self._path = one(LEASES, "leases", name, namespace)
        self._identity = identity
        self._pace = pace or Pace()
        self._monotonic_s = monotonic_s
        self._spec: JsonObject | None = None  # as it was seen last,
        self._seen_at = 0.0  # unchanged since then
        self._version = ""
        self.leading = False

    @property
    def leader(self) -> str:
        """The identity of the leader, as last seen; empty: none."""
        return str((self._spec or {}).get("holderIdentity") or "")

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Waits for leadership, then runs `lead`. Returns when `lead` does, with the Lease released; raises
        LeadershipLost when leadership ends first, after `lead` was cancelled and has ended."""
        await self.acquire()
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._renew_on())
        try:
            await asyncio.wait((leading, renewing), return_when=asyncio.FIRST_COMPLETED)
            if leading.done():
                leading.result()
            else:
                renewing.result()
        finally:
            await cancel(renewing, leading)
            await self.release()

    async def acquire(self) -> None:
        while not await self._try():  # noqa: ASYNC110 - there is no notice of a release
            await asyncio.sleep(self._pace.retry_s)
        _log.info("%s leads (lease %s/%s)", self._identity, *self._place)

    async def release(self) -> None:
        """So that the next leader need not wait; only if it is ours."""
        if not self.leading:
            return
        self.leading = False
        spec = self._new_spec("", 1, self._spec or {})
        try:
            async with asyncio.timeout(self._pace.retry_s):
                await self._write(spec)
        except (KubernetesApiError, TimeoutError) as error:
            _log.info("lease %s/%s was not given back, it will expire: %s", *self._place, error)

    async def _renew_on(self) -> None:
        renewed_at = self._monotonic_s()
        while True:
            await asyncio.sleep(self._pace.retry_s)
            due = renewed_at + self._pace.renew_within_s
            began = self._monotonic_s()
            try:
                async with asyncio.timeout(max(0.0, due - began)):
                    renewed = await self._try()
            except TimeoutError:
                renewed = False
            if renewed:
                renewed_at = began  # the server took it some time after this
            elif self.leader not in ("", self._identity) or self._monotonic_s() >= due:
                self.leading = False
                by = f"{self.leader} has it" if self.leader != self._identity else "it could not be renewed in time"
                raise LeadershipLost(f"lease {'/'.join(self._place)}: {by}")

    async def _try(self) -> bool:
        """Take it or renew it; False: another has it, or nothing is known."""
        try:
            await self._look()
            spec = self._spec or {}
            expires_at = self._seen_at + float(spec.get("leaseDurationSeconds") or self._pace.lease_s)
            if self.leader not in ("", self._identity) and self._monotonic_s() < expires_at:
                return False
            await self._write(self._new_spec(self._identity, self._pace.lease_s, spec))
        except ObjectConflict:
            return False  # another was quicker; the next look says who
        except KubernetesApiError as error:
            _log.warning("lease %s/%s: %s", *self._place, error)
            return False
        self.leading = True
        return True

    async def _look(self) -> None:
        try:
            found = await self._api.get(self._path)
        except ObjectNotFound:
            self._spec, self._version = None, ""
            return
        self._note(found)

    def _note(self, lease: JsonObject) -> None:
        spec = lease.get("spec") or {}
        if spec != self._spec:
            self._spec, self._seen_at = spec, self._monotonic_s()
        self._version = lease["metadata"]["resourceVersion"]

    async def _write(self, spec: JsonObject) -> None:
        namespace, name = self._place
        about: dict[str, Any] = {"name": name, "namespace": namespace}
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        if self._version:
            body = {**kind, "metadata": {**about, "resourceVersion": self._version}, "spec": spec}
            self._note(await self._api.replace(self._path, body))
        else:
            path = collection(LEASES, "leases", namespace)
            self._note(await self._api.create(path, {**kind, "metadata": about, "spec": spec}))

    def _new_spec(self, holder: str, lease_s: int, before: JsonObject) -> JsonObject:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        same = before.get("holderIdentity") == holder
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            "holderIdentity": holder,
            "leaseDurationSeconds": lease_s,
            "acquireTime": before.get("acquireTime", now) if same else now,
            "renewTime": now,
            "leaseTransitions": transitions if same or not before else transitions + 1,
        }
