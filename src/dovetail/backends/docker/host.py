"""One Docker host: what its engine says of it, of its containers, and of what they wrote.

Guarantees (and those of `hosts.connected_host`): a container of ours whose end was reported is removed and not reported
again.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import (
    Assignment,
    CommandInput,
    LogChunk,
    MeasuredTask,
    Phase,
    Report,
    Status,
    TerminalSize,
)
from dovetail.backends.docker.attempts import DockerAttempts
from dovetail.backends.docker.connection import Connection, DockerUnreachable
from dovetail.backends.docker.container import Identity, container_body
from dovetail.backends.docker.container_use import ContainerMeter
from dovetail.backends.docker.deciding import Stage, moment
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.images import Images, labels_of_images
from dovetail.backends.docker.node import cores, describe, engine_id
from dovetail.backends.docker.sessions import attach_to, execute_in
from dovetail.backends.docker.settings import DockerSettings, HostSettings
from dovetail.backends.hosts.connected_host import ConnectedHost
from dovetail.backends.log_streams import LogStreams, offset_since
from dovetail.backends.retention import to_remove
from dovetail.model.event import NodeObserved
from dovetail.model.node import Node

TIDY_INTERVAL_S = 600.0
EVENTS_BEFORE_S = 2.0  # events are read from so long before, in case the host's clock is coarse
LIVE = ["created", "running", "paused", "restarting"]
EVENTS = {
    "type": ["container", "image"],
    "event": ["start", "die", "destroy", "pull", "tag", "untag", "delete", "import", "load"],
}
_log = logging.getLogger(__name__)


class Host(ConnectedHost):
    kind, host_word = "docker", "host"
    attempts: DockerAttempts

    def __init__(
        self,
        settings: HostSettings,
        backend: DockerSettings,
        identity: Identity,
        journal: Journal,
        report: Report,
        same_engine: Callable[[str, str], str | None],
    ) -> None:
        """`same_engine(engine id, host)`: another host of the backend that is the same engine under another name."""
        super().__init__(settings.name, report, backend.look_interval_s)
        self._settings, self._backend = settings, backend
        self._identity, self._journal, self._same_engine = identity, journal, same_engine
        self._api = EngineApi(Connection(settings), backend.answer_within_s)
        self._images = Images(self._api, backend.pull, backend.registries)
        self._info: dict[str, Any] = {}
        self._adopted = False
        self._outputs = LogStreams()
        self._observer, self._meter = ContainerMeter(self._api), ContainerMeter(self._api)
        self.attempts = DockerAttempts(
            identity, self._api, journal, self._images, report, self._body_of, backend.parallel, self._check_connection
        )

    async def close(self) -> None:
        await self.attempts.close()
        await self._images.close()
        await self._outputs.close()
        await self._api.close()

    async def describe(self) -> Node:
        """The current node, asked of the engine."""
        self._info = await self._api.info()
        images = await self._api.images() if self._backend.report_images else []
        return describe(
            self._identity.backend, self._settings, self._info, labels_of_images(images, self._backend.report_images)
        )

    async def status(self, record: Record) -> Status:
        seen = await self.attempts.seen(record.key)
        running = seen is not None and seen.stage in (Stage.RUNNING, Stage.EXITED)  # exited: its end is reported soon
        return Status(Phase.RUNNING if running else Phase.ACCEPTED, reason=record.stop_reason or "")

    async def logs(self, record: Record, offset: int, limit: int) -> LogChunk:
        """Raises KeyError if its container was removed."""
        seen = await self.attempts.seen(record.key)
        if seen is None and (record.state is State.ENDED or record.created):
            raise KeyError(f"no logs of attempt {record.key}: its container has been removed from {self.name}")
        if seen is None or seen.stage in (Stage.CREATED, Stage.UNSTARTABLE):
            return LogChunk("", offset, ended=False)
        name = self._identity.name(record.key)
        chunk, over = await self._outputs.read(name, offset, limit, lambda: self._api.output(name))
        if not over:
            return chunk
        # The stream also ends when the engine stops; only an exited container prints nothing more.
        seen = await self.attempts.seen(record.key)
        return replace(chunk, ended=seen is None or seen.stage is Stage.EXITED)

    async def measure(self) -> dict[str, MeasuredTask]:
        """By key, for containers that run. Of its processes only the first is known, if it may have GPUs."""
        found: dict[str, MeasuredTask] = {}
        listed = await self._api.containers(self._identity.labels, ["running"])
        named = {str(one["Id"]): key for one in listed if (key := self._identity.key_of(one.get("Labels") or {}))}
        for container, use in (await self._meter.measure(list(named))).items():
            pid = None
            if self._settings.gpus:
                pid = (((await self._api.inspect(container)) or {}).get("State") or {}).get("Pid")
            found[named[container]] = MeasuredTask(use, frozenset([pid] if pid else []))
        return found

    async def log_since(self, record: Record, at: float) -> int:
        """Raises KeyError if its container was removed."""
        async with contextlib.aclosing(self._api.output_with_times(self._identity.name(record.key))) as pieces:
            try:
                return await offset_since(pieces, at)
            except DockerApiError as error:
                raise KeyError(f"no logs of attempt {record.key} on {self.name}: {error}") from None

    def execute(
        self, record: Record, command: Sequence[str], given: CommandInput | None, terminal: TerminalSize | None
    ) -> AsyncGenerator[bytes | int]:
        return execute_in(self._api, self._identity.name(record.key), command, given, terminal)

    def attach(self, record: Record, given: CommandInput | None) -> AsyncGenerator[bytes | int]:
        return attach_to(self._api, self._identity.name(record.key), given)

    # --- how the host is -------------------------------------------------------------------------------------

    async def _greet(self) -> Node:
        await self._api.greet()
        node = await self.describe()
        same = self._same_engine(engine_id(self._info), self.name)
        if same is not None:
            raise DockerUnreachable(
                f"it is the same engine as host {same!r} (same id, host name and folder); remove one of them from the "
                "settings, or give machines that were cloned different host names"
            )
        now = moment(str(self._info.get("SystemTime", "")))
        self.attempts.set_clock(time.time() if now is None else now)
        return node

    # --- what happens there ----------------------------------------------------------------------------------

    def _work(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        return [
            ("events", self._follow_events()),
            ("pings", self._ping()),
            ("use", self._observe()),
            ("tidying", self._remove_old()),
        ]

    async def _follow_events(self) -> None:
        since = moment(str(self._info.get("SystemTime", ""))) or time.time()
        async for event in self._api.events(since - EVENTS_BEFORE_S, EVENTS):
            if event.get("Type") == "image":
                self.look_again()
                continue
            key = self._identity.key_of((event.get("Actor") or {}).get("Attributes") or {})
            if key is not None:
                self.attempts.wake(key)

    async def _ping(self) -> None:
        """A quick check whether the host answers, whatever longer calls are under way."""
        while True:
            await asyncio.sleep(self._backend.look_interval_s)
            await self._api.greet()

    async def _after_look(self) -> None:
        await self._outputs.close_idle()

    async def _look(self) -> None:
        """Check every live container of ours, and every attempt that should have one."""
        statuses = LIVE if self._adopted else None  # the first time also those that ended and may be unknown
        listed = await self._api.containers(self._identity.labels, statuses)
        running: set[str] = set()
        for container in listed:
            key = self._identity.key_of(container.get("Labels") or {})
            if key is None:
                continue
            live = container.get("State") in LIVE
            if container.get("State") == "running":
                running.add(key)
            record = await self._journal.get(key)
            if record is None:
                record = await self._journal.order(key, self.name, created=True)
            elif live and (record.state is State.ENDED or record.node != self.name):
                _log.warning("host %s: removing container of attempt %s, which has ended", self.name, key)
                await self._remove(self._identity.name(key))
        self._adopted = True
        for key in await self._journal.unfinished(self.name):
            if not (key in running and self.attempts.rests(key)):
                self.attempts.wake(key)

    async def _observe(self) -> None:
        while True:
            await self._send(NodeObserved(self.name, await self._observer.total()))
            await asyncio.sleep(self._backend.observe_interval_s)

    async def _remove_old(self) -> None:
        while True:
            await asyncio.sleep(TIDY_INTERVAL_S)
            ended_at = {}
            for container in await self._api.containers(self._identity.labels, ["exited", "dead"]):
                key = self._identity.key_of(container.get("Labels") or {})
                record = None if key is None else await self._journal.get(key)
                if record is not None and record.state is State.ENDED:
                    ended_at[self._identity.name(record.key)] = record.changed_at
            for name in to_remove(ended_at, self._backend.keep_containers, self._backend.keep_for_s, time.time()):
                await self._remove(name)
            await self._journal.forget_old()

    async def _remove(self, name: str) -> None:
        try:
            await self._api.remove(name)
        except DockerApiError as error:  # the host is fine; the next poll tries again
            _log.warning("host %s: cannot remove container %s: %s", self.name, name, error)

    def _body_of(self, assignment: Assignment) -> dict[str, Any]:
        return container_body(assignment, self._identity, self._settings, self._backend, cores(self._info))
