"""Leader election by a Lease (coordination.k8s.io/v1), compatible with everything that uses one.

Guarantees, if clocks *run* alike, however they are set: no two lead at once. No time written in the Lease is compared
with our clock. A candidate takes the Lease only after it has seen it unchanged for its whole duration, by its own
clock; a leader stops when it could not renew for `renew_within_s`, which is less. Writes carry the version that was
read, so of two candidates at once one fails.

How alike the clocks have to run: while one counts `lease_s`, another must count more than `renew_within_s`, so the
clock of a leader may be slower than that of a candidate by a quarter. The clock is monotonic: setting the time does not
change it. It goes on while a process is stopped, but not while its machine sleeps: a leader that wakes up with its
machine believes that it leads for up to `renew_within_s` more. `holds` tells when to send nothing; what was on its way
already is for the API server to refuse.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dovetail.asyncio_tasks import cancel
from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import KubernetesApiError, ObjectConflict, ObjectNotFound
from dovetail.kubernetes_client.paths import LEASES, collection, one

_log = logging.getLogger(__name__)

LEASE_S = 7
_SOONEST_S = 0.05


class LeadershipLost(Exception):
    """The lease could not be renewed in time, or another has it: everything that only a leader may do has to end."""


@dataclass(frozen=True, slots=True)
class Pace:
    """`lease_s` > `renew_within_s` > `retry_s`, with a margin between them. After a leader was killed another leads
    within `lease_s` + `retry_s`. Kubernetes itself has 15, 10 and 2 s."""

    lease_s: int = LEASE_S
    renew_within_s: float = 5.0
    retry_s: float = 1.0

    def __post_init__(self) -> None:
        if not self.lease_s > self.renew_within_s > self.retry_s > 0:
            raise ValueError(
                f"a lease of {self.lease_s} s, renewed within {self.renew_within_s} s, tried every {self.retry_s} s "
                "cannot be held: each has to be longer than the next"
            )


def pace_of(lease_s: int) -> Pace:
    """The pace for a lease of this many seconds, with the margins of the default."""
    return Pace(lease_s, lease_s * 5 / 7, lease_s / 7)


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
        self._renewed_at = 0.0
        self._told = ""  # the error that was logged last: once, as long as it is the same
        self.leading = False

    @property
    def holds(self) -> bool:
        """It leads, and nobody else can by now."""
        return self.leading and self._monotonic_s() < self._renewed_at + self._pace.renew_within_s

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
        while not await self._try():
            left_s = self._expires_at - self._monotonic_s() if self.leader else self._pace.retry_s
            await asyncio.sleep(min(self._pace.retry_s, max(left_s, _SOONEST_S)))
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
        while True:
            await asyncio.sleep(self._pace.retry_s)
            due = self._renewed_at + self._pace.renew_within_s
            began = self._monotonic_s()
            try:
                async with asyncio.timeout(max(0.0, due - began)):
                    renewed = await self._try()
            except TimeoutError:
                renewed = False
            if not renewed and (self.leader not in ("", self._identity) or self._monotonic_s() >= due):
                self.leading = False
                by = f"{self.leader} has it" if self.leader != self._identity else "it could not be renewed in time"
                raise LeadershipLost(f"lease {'/'.join(self._place)}: {by}")

    async def _try(self) -> bool:
        """Take it or renew it; False: another has it, or nothing is known."""
        try:
            await self._look()
            spec = self._spec or {}
            if self.leader not in ("", self._identity) and self._monotonic_s() < self._expires_at:
                return False
            began = self._monotonic_s()
            await self._write(self._new_spec(self._identity, self._pace.lease_s, spec))
        except ObjectConflict:
            return False  # another was quicker; the next look says who
        except KubernetesApiError as error:
            words = str(error)
            _log.log(logging.DEBUG if words == self._told else logging.WARNING, "lease %s/%s: %s", *self._place, words)
            self._told = words
            return False
        self._told = ""
        self.leading, self._renewed_at = True, began  # the server took it some time after this
        return True

    @property
    def _expires_at(self) -> float:
        """When the lease may be taken, if it does not change before."""
        return self._seen_at + float((self._spec or {}).get("leaseDurationSeconds") or self._pace.lease_s)

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
