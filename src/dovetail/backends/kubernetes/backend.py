"""The Kubernetes backend: implements the contract with pods of one namespace.

Consistency: a call sees the effect of earlier calls (it asks the API server, not the watch); changes in the cluster
are reported from the watch. While the API server is away, calls raise and may be repeated; pods keep running, and the
backend catches up afterwards. The cluster decides when a node is lost.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    Phase,
    Price,
    Refusal,
    Report,
    Status,
    TerminalSize,
    WorkloadRefusal,
)
from dovetail.backends.kubernetes.attempts import PodAttempts
from dovetail.backends.kubernetes.failures import FAILURES
from dovetail.backends.kubernetes.machines import Machines
from dovetail.backends.kubernetes.manifest import never_of, pod_of, refuse_what_cannot_run
from dovetail.backends.kubernetes.naming import OWNER, STOP_REASON, pod_name, remembered_owner
from dovetail.backends.kubernetes.outcome import outcome_of
from dovetail.backends.kubernetes.output import Output
from dovetail.backends.kubernetes.permissions import MANIFEST, needed_rights
from dovetail.backends.kubernetes.sessions import attach_to, execute_in
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.backends.kubernetes.upkeep import Meter, end_stuck, remove_old
from dovetail.backends.kubernetes.volumes import claims_of, refuse_unusable_claims
from dovetail.kubernetes_client.access import find_access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import (
    BadRequest,
    Forbidden,
    KubernetesApiError,
    ObjectConflict,
    ObjectInvalid,
    ObjectNotFound,
    Unauthorized,
)
from dovetail.kubernetes_client.paths import CORE, NODES, PODS, collection, pod
from dovetail.kubernetes_client.pods import create, delete
from dovetail.kubernetes_client.reflector import OptionalReflector, Reflector
from dovetail.kubernetes_client.rights import lacking, missing_rights
from dovetail.kubernetes_client.tasks import cancel
from dovetail.model.event import NodeObserved
from dovetail.model.node import Node

REPORT_NODES_S = 0.5
"""The shortest time between two reports of nodes: other pods change their capacity all the time."""
UPKEEP_S = 5.0
ENDED_S = 0.2
"""How often it is asked whether a pod has ended that writes no more."""
TRIES = 10
LACKS = "our credentials lack"
_log = logging.getLogger(__name__)


class KubernetesBackend:
    """Implements `Backend`, `ExecutingBackend` and `AttachingBackend` of `dovetail.backends.contract`."""

    capabilities = Capabilities(
        containers=True, gpus=True, logs=True, observes=True, executes=True, attaches=True, stale_for_s=2.0
    )

    def __init__(self, name: str, settings: KubernetesSettings, folder: Path) -> None:
        self.name = name
        self._settings = settings
        self._folder = folder
        self._owner = settings.owner or ""
        self._namespace = settings.namespace or ""
        self._machines = Machines(name, settings.gpu_resource)
        self._attempts = PodAttempts()
        self._traceless: set[str] = set()
        self._rights_in_doubt = False
        self._opened: Api | None = None
        self._output: Output | None = None
        self._tasks: list[asyncio.Task[None]] = []

    # --- beginning and end -----------------------------------------------------------------------------------

    async def start(self, report: Report) -> None:
        """Raises if the cluster cannot be reached, and may then be called again."""
        try:
            with self._naming_the_remedy():
                await self._start(report)
        except BaseException:
            await self.close()
            raise

    @contextlib.contextmanager
    def _naming_the_remedy(self) -> Iterator[None]:
        """Around calls: one that our credentials do not allow says what to do, and the next `nodes` looks closer."""
        try:
            yield
        except Unauthorized as error:
            source = self._settings.kubeconfig or "the kubeconfig, or the service account of this pod"
            words = "the API server does not accept our credentials (401): they are wrong, revoked or expired. Renew "
            words += f"those in {source}: a new token there is used at once. After any other change: "
            words += f"dovetail backend add {self.name} --replace with its settings; "
            words += "where the settings of the server name it, start that again"
            raise Unauthorized(error.status, error.reason, words) from None
        except Forbidden as error:
            self._rights_in_doubt = True
            if str(error).startswith(LACKS):
                raise
            words = f"{LACKS} a right (403): {error}. Grant it: kubectl apply -f {MANIFEST}"
            raise Forbidden(error.status, error.reason, words) from None

    def _watched(self, healthy: bool, _why: str) -> None:
        """A watch that is refused is retried for ever: `nodes` finds out whether a right is missing."""
        self._rights_in_doubt |= not healthy

    async def _check_rights(self) -> None:
        """Raises Forbidden with all that is missing."""
        missing = await missing_rights(self._api, needed_rights(self._namespace))
        if missing:
            raise Forbidden(403, "Forbidden", lacking(missing, MANIFEST))
        self._rights_in_doubt = False

    async def _start(self, report: Report) -> None:
        settings = self._settings
        access = await asyncio.to_thread(find_access, settings.kubeconfig, settings.context)
        self._namespace = settings.namespace or access.namespace
        if not self._owner:
            self._owner = await asyncio.to_thread(remembered_owner, self._folder)
        self._machines, self._attempts = Machines(self.name, settings.gpu_resource), PodAttempts()
        self._opened = api = Api(access, width=settings.connections, timeout_s=settings.timeout_s)
        self._output = Output(api, self._namespace)
        ours, others = f"{OWNER}={self._owner}", f"{OWNER}!={self._owner}"
        alive = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        reflectors = [
            Reflector(api, NODES, self._machines.take_nodes, labels=settings.nodes, told=self._watched),
            Reflector(
                api, collection(CORE, "pods", self._namespace), self._attempts.take, labels=ours, told=self._watched
            ),
            Reflector(api, PODS, self._machines.take_other_pods, labels=others, fields=alive, told=self._watched),
        ]
        await self._check_rights()
        for each in reflectors:  # raise an error for a wrong address, credentials or selector instead of waiting
            await each.check()
        warnings = Reflector(
            api,
            collection(CORE, "events", self._namespace),
            self._attempts.take_events,
            fields="type=Warning,involvedObject.kind=Pod",
        )
        self._tasks = [self._start_task(each.run(), "watch") for each in reflectors]
        await self._wait_until_listed(reflectors)
        await self._report_nodes(report)
        adopted = sum(not attempt.outcome.ended for attempt in self._attempts)
        for attempt in self._attempts:
            # Ends from before are reported only on request: `reconcile`, `bind`.
            attempt.end_reported = attempt.outcome.ended
        self._tasks += [
            self._start_task(OptionalReflector(warnings).run(), "watch events"),
            self._start_task(self._attempts.run(report), "report"),
            self._start_task(self._regularly(REPORT_NODES_S, lambda: self._report_nodes(report)), "nodes"),
            self._start_task(self._regularly(UPKEEP_S, self._run_upkeep), "upkeep"),
            self._start_task(self._observe(report), "observe"),
        ]
        _log.info(
            "backend %s: %s, namespace %s, owner %s, %d nodes, %d attempts found again",
            self.name, access.server, self._namespace, self._owner, len(self._machines.nodes()), adopted,
        )  # fmt: skip

    async def _wait_until_listed(self, reflectors: list[Reflector]) -> None:
        """Until every reflector has listed its objects. Raises the error of a reflector that cannot."""
        async with asyncio.timeout(self._settings.timeout_s * 4):
            for reflector, task in zip(reflectors, self._tasks, strict=True):
                synced = asyncio.create_task(reflector.synced.wait())
                await asyncio.wait((synced, task), return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    synced.cancel()
                    task.result()

    async def close(self) -> None:
        await cancel(*self._tasks)
        self._tasks = []
        if self._output is not None:
            await self._output.close()
        if self._opened is not None:
            await self._opened.close()
        self._output = self._opened = None

    # --- the contract ----------------------------------------------------------------------------------------

    async def nodes(self) -> list[Node]:
        """From the watch. The API server is asked too: one that is away, or lets us in no longer, is noticed."""
        with self._naming_the_remedy():
            await self._api.get(NODES, {"limit": 1})
            if self._rights_in_doubt:
                await self._check_rights()
        return self._machines.nodes()

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of([node.name for node in self._machines.nodes()])

    async def status(self, key: str) -> Status:
        try:
            found = await self._api.get(pod(self._namespace, self._pod_name(key)))
        except (ObjectNotFound, ValueError):
            raise KeyError(key) from None
        known = self._attempts.note(found, report=False)
        return (known.outcome if known is not None else outcome_of(found)).status()

    async def bind(self, assignment: Assignment) -> None:
        refuse_what_cannot_run(assignment, self._settings)
        if assignment.node not in self._machines:
            raise Refusal(f"the cluster of backend {self.name!r} has no node {assignment.node!r}")
        try:
            body = pod_of(assignment, self._owner, assignment.node, self._settings)
        except ValueError as error:
            raise WorkloadRefusal(str(error)) from None
        with self._naming_the_remedy():
            found, made = await self._create(body, claims_of(assignment.spec.run.volumes))
        if (found["metadata"].get("labels") or {}).get(OWNER) != self._owner:
            raise Refusal(f"there is a pod {found['metadata']['name']} already that is not ours")
        known = self._attempts.note(found, report=not made)
        if known is not None and known.never:
            raise Refusal(f"attempt {assignment.key} will not run: {known.outcome.reason}")

    async def stop(self, key: str, reason: str) -> None:
        with self._naming_the_remedy():
            await self._stop(key, reason)

    async def _stop(self, key: str, reason: str) -> None:
        name = self._pod_name(key)
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

    async def kill(self, key: str, reason: str) -> None:
        await self.stop(key, reason)
        await delete(self._api, self._namespace, self._pod_name(key), grace_s=0)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            known = self._attempts.get(assignment.key)
            if known is not None:
                self._attempts.report_again(known)
            else:
                self._traceless.add(assignment.key)
        await self._end_traceless()

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        try:
            status = await self.status(key)
        except KeyError:
            raise KeyError(f"no logs of attempt {key}: no pod of it is in the cluster") from None
        known = self._attempts.get(key)
        if known is not None and known.never:
            raise KeyError(f"no logs of attempt {key}: it was never started")
        assert self._output is not None
        return await self._output.read(self._pod_name(key), offset, limit, ended=status.phase == "ended")

    async def log_since(self, key: str, at: float) -> int:
        assert self._output is not None
        return await self._output.since(self._pod_name(key), at)

    async def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        """The API server cannot end such a command: it ends by itself, or with its pod."""
        name = await self._running_pod(key)
        async with contextlib.aclosing(
            execute_in(self._api, self._namespace, name, command, given, terminal)
        ) as blocks:
            async for block in blocks:
                yield block

    async def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        name = await self._running_pod(key)
        async with contextlib.aclosing(attach_to(self._api, self._namespace, name, given)) as blocks:
            async for block in blocks:
                yield block
        status = await self.status(key)
        while status.phase is not Phase.ENDED:  # its node has not said so yet
            await asyncio.sleep(ENDED_S)
            status = await self.status(key)
        if status.exit_code is None:
            raise Refusal(status.reason)
        yield status.exit_code

    async def _running_pod(self, key: str) -> str:
        if (await self.status(key)).phase is not Phase.RUNNING:
            raise KeyError(key)
        return self._pod_name(key)

    # --- pods ------------------------------------------------------------------------------------------------

    @property
    def _api(self) -> Api:
        if self._opened is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        return self._opened

    def _pod_name(self, key: str) -> str:
        return pod_name(self._settings.name_prefix, self._owner, key)

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

    async def _never(self, key: str, reason: str) -> bool:
        """Prevent this attempt from ever running. False: it has a pod."""
        found, made = await create(self._api, self._namespace, never_of(key, self._owner, reason, self._settings))
        self._attempts.note(found, report=True)
        return made

    async def _end_traceless(self) -> None:
        """An attempt without a pod is lost and must never run. Repeated later if the cluster cannot be asked now."""
        for key in list(self._traceless):
            await self._never(key, "lost: no pod of it is left in the cluster")
            self._traceless.discard(key)

    # --- going on --------------------------------------------------------------------------------------------

    def _start_task(self, what: Any, word: str) -> asyncio.Task[None]:
        task = asyncio.create_task(what, name=f"{self.name}: {word}")
        task.add_done_callback(_log_failure)
        return task

    async def _report_nodes(self, report: Report) -> None:
        events = self._machines.changes()
        for position, event in enumerate(events):
            try:
                await report(event)
            except Exception:
                self._machines.report_again(events[position:])
                raise

    async def _run_upkeep(self) -> None:
        now = time.monotonic()
        await self._end_traceless()
        await end_stuck(self._api, self._namespace, self._attempts, self._settings.start_patience_s, now)
        gone = await remove_old(self._api, self._namespace, self._attempts, self._settings, now)
        if gone:
            _log.info("backend %s: removed %d old pods", self.name, gone)

    async def _observe(self, report: Report) -> None:
        meter = Meter(self._api)

        async def once() -> None:
            for node, used in (await meter.measure()).items():
                if node in self._machines:
                    await report(NodeObserved(node, used))

        await self._regularly(self._settings.observe_interval_s, once)

    async def _regularly(self, every_s: float, do: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(every_s)
            try:
                await do()
            except KubernetesApiError as error:
                _log.info("backend %s: %s", self.name, error)
            except Exception:  # a failed round does no harm; ending the task would
                _log.exception("backend %s: will try again", self.name)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("%s ended, which it must not", task.get_name(), exc_info=task.exception())
