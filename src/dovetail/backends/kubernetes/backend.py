"""The Kubernetes backend: implements the contract with pods of one namespace.

Consistency: a call sees the effect of earlier calls (`pod_control`); changes in the cluster are reported from the
watch. While the API server is away, calls raise and may be repeated; pods keep running, and the backend catches up
afterwards. The cluster decides when a node is lost.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.asyncio_tasks import cancel
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
)
from dovetail.backends.kubernetes.attempts import PodAttempts
from dovetail.backends.kubernetes.machines import Machines
from dovetail.backends.kubernetes.manifest import refuse_what_cannot_run
from dovetail.backends.kubernetes.naming import OWNER, remembered_owner
from dovetail.backends.kubernetes.output import Output
from dovetail.backends.kubernetes.permissions import AccessReview
from dovetail.backends.kubernetes.pod_control import PodControl
from dovetail.backends.kubernetes.sessions import attach_to, execute_in
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.backends.kubernetes.upkeep import Meter, end_stuck, remove_old
from dovetail.kubernetes_client.access import find_access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import (
    KubernetesApiError,
)
from dovetail.kubernetes_client.paths import CORE, NODES, PODS, collection
from dovetail.kubernetes_client.reflector import OptionalReflector, Reflector
from dovetail.model.event import NodeObserved
from dovetail.model.node import Node

REPORT_NODES_S = 0.5
"""The shortest time between two reports of nodes: other pods change their capacity all the time."""
UPKEEP_S = 5.0
ENDED_S = 0.2
"""How often it is asked whether a pod has ended that writes no more."""
_log = logging.getLogger(__name__)


class _Parts(NamedTuple):
    """What exists while the backend is started."""

    api: Api
    pods: PodControl
    output: Output


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
        self._access = AccessReview(name, settings.kubeconfig)
        self._parts: _Parts | None = None
        self._tasks: list[asyncio.Task[None]] = []

    # --- beginning and end -----------------------------------------------------------------------------------

    async def start(self, report: Report) -> None:
        """Raises if the cluster cannot be reached, and may then be called again."""
        try:
            with self._access.naming_the_remedy():
                await self._start(report)
        except BaseException:
            await self.close()
            raise

    async def _start(self, report: Report) -> None:
        settings = self._settings
        access = await asyncio.to_thread(find_access, settings.kubeconfig, settings.context)
        self._namespace = settings.namespace or access.namespace
        if not self._owner:
            self._owner = await asyncio.to_thread(remembered_owner, self._folder)
        self._machines, self._attempts = Machines(self.name, settings.gpu_resource), PodAttempts()
        api = Api(access, width=settings.connections, timeout_s=settings.timeout_s)
        pods = PodControl(api, self._namespace, self._owner, settings, self._attempts)
        self._parts = _Parts(api, pods, Output(api, self._namespace))
        ours, others = f"{OWNER}={self._owner}", f"{OWNER}!={self._owner}"
        told = self._access.watched
        alive = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        reflectors = [
            Reflector(api, NODES, self._machines.take_nodes, labels=settings.nodes, told=told),
            Reflector(api, collection(CORE, "pods", self._namespace), self._attempts.take, labels=ours, told=told),
            Reflector(api, PODS, self._machines.take_other_pods, labels=others, fields=alive, told=told),
        ]
        await self._access.check(api, self._namespace)
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
        if self._parts is not None:
            await self._parts.output.close()
            await self._parts.api.close()
        self._parts = None

    @property
    def _started(self) -> _Parts:
        if self._parts is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        return self._parts

    # --- the contract ----------------------------------------------------------------------------------------

    async def nodes(self) -> list[Node]:
        """From the watch. The API server is asked too: one that is away, or lets us in no longer, is noticed."""
        with self._access.naming_the_remedy():
            await self._started.api.get(NODES, {"limit": 1})
            if self._access.in_doubt:
                await self._access.check(self._started.api, self._namespace)
        return self._machines.nodes()

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of([node.name for node in self._machines.nodes()])

    async def status(self, key: str) -> Status:
        return await self._started.pods.status(key)

    async def bind(self, assignment: Assignment) -> None:
        refuse_what_cannot_run(assignment, self._settings)
        if assignment.node not in self._machines:
            raise Refusal(f"the cluster of backend {self.name!r} has no node {assignment.node!r}")
        with self._access.naming_the_remedy():
            await self._started.pods.bind(assignment)

    async def stop(self, key: str, reason: str) -> None:
        with self._access.naming_the_remedy():
            await self._started.pods.stop(key, reason)

    async def kill(self, key: str, reason: str) -> None:
        await self.stop(key, reason)
        await self._started.pods.kill(key)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        await self._started.pods.reconcile(assignments)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        try:
            status = await self.status(key)
        except KeyError:
            raise KeyError(f"no logs of attempt {key}: no pod of it is in the cluster") from None
        known = self._attempts.get(key)
        if known is not None and known.never:
            raise KeyError(f"no logs of attempt {key}: it was never started")
        parts = self._started
        return await parts.output.read(parts.pods.name(key), offset, limit, ended=status.phase == "ended")

    async def log_since(self, key: str, at: float) -> int:
        parts = self._started
        return await parts.output.since(parts.pods.name(key), at)

    async def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        """The API server cannot end such a command: it ends by itself, or with its pod."""
        name = await self._running_pod(key)
        blocks_of = execute_in(self._started.api, self._namespace, name, command, given, terminal)
        async with contextlib.aclosing(blocks_of) as blocks:
            async for block in blocks:
                yield block

    async def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        name = await self._running_pod(key)
        async with contextlib.aclosing(attach_to(self._started.api, self._namespace, name, given)) as blocks:
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
        return self._started.pods.name(key)

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
        now, api = time.monotonic(), self._started.api
        await self._started.pods.end_traceless()
        await end_stuck(api, self._namespace, self._attempts, self._settings.start_patience_s, now)
        gone = await remove_old(api, self._namespace, self._attempts, self._settings, now)
        if gone:
            _log.info("backend %s: removed %d old pods", self.name, gone)

    async def _observe(self, report: Report) -> None:
        meter = Meter(self._started.api)

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
