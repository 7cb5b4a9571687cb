"""One host: keeps in touch with its engine, looks after what runs there, and tells how the host is.

Guarantees: a host that does not answer is told to be offline and is tried again for ever, more and more slowly; when it
is back, everything there is looked at before anything else. What happens there is heard from its events, and every
`look_interval_s` also seen, so that an event that was lost delays a report and loses none. A container of ours that
should not be there, because its end was told, is removed and not told again.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from dovetail.backends.contract import Assignment, LogChunk, Phase, Report, Status
from dovetail.backends.docker.attempts import DockerAttempts
from dovetail.backends.docker.connection import Connection, DockerUnreachable
from dovetail.backends.docker.container import Identity, container_body
from dovetail.backends.docker.deciding import Stage, moment, seen_in
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.images import Images, labels_of_images
from dovetail.backends.docker.journal import Journal, Record, State
from dovetail.backends.docker.node import cores, describe, engine_id
from dovetail.backends.docker.observing import Observer
from dovetail.backends.docker.output import Outputs
from dovetail.backends.docker.settings import DockerSettings, HostSettings
from dovetail.backends.retention import to_remove
from dovetail.model.backoff import Backoff
from dovetail.model.event import NodeHealthChanged, NodeJoined, NodeObserved
from dovetail.model.node import Node

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 5.0
TIDY_INTERVAL_S = 600.0
EVENTS_BEFORE_S = 2.0  # heard again from so long before, in case the host's clock is coarse
LIVE = ["created", "running", "paused", "restarting"]
HEARD = {
    "type": ["container", "image"],
    "event": ["start", "die", "destroy", "pull", "tag", "untag", "delete", "import", "load"],
}
_log = logging.getLogger(__name__)


class Host:
    def __init__(
        self,
        settings: HostSettings,
        backend: DockerSettings,
        identity: Identity,
        journal: Journal,
        report: Report,
        twin_of: Callable[[str, str], str | None],
    ) -> None:
        """`twin_of(engine id, host)`: another host of the backend that is the same engine under another name."""
        self.name = settings.name
        self.met = asyncio.Event()
        """It was tried once, with whatever result."""
        self.trouble = "it has not been asked yet"
        self._settings, self._backend = settings, backend
        self._identity, self._journal, self._report, self._twin_of = identity, journal, report, twin_of
        self._api = EngineApi(Connection(settings), backend.answer_within_s)
        self._images = Images(self._api, backend.pull, backend.registries)
        self._info: dict[str, Any] = {}
        self._told: Node | None = None  # as the node was announced; None: it is to be announced
        self._said_offline = False
        self._look_again = asyncio.Event()
        self._broken = asyncio.Event()
        self._adopted = False
        self._outputs = Outputs()
        self._observer = Observer(self._api)
        self.attempts = DockerAttempts(
            identity, self._api, journal, self._images, report, self._body_of, backend.parallel, self._in_trouble
        )

    @property
    def online(self) -> bool:
        return self.attempts.reachable.is_set()

    async def run(self) -> None:
        """Until cancelled."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            try:
                await self._meet()
                backoff.reset()
                self.met.set()
                await self._keep_in_touch()
            except DockerUnreachable as error:
                await self._fell_silent(str(error))
            except Exception as error:  # an engine that answers oddly is no host to send work to
                _log.exception("host %s: trying again in %.1f s", self.name, backoff.pause_s)
                await self._fell_silent(f"{type(error).__name__}: {error}")
            self.met.set()
            await asyncio.sleep(backoff.next_s())

    async def close(self) -> None:
        await self.attempts.close()
        await self._images.close()
        await self._outputs.close()
        await self._api.close()

    async def describe(self) -> Node:
        """As it is now, asked of the engine."""
        self._info = await self._api.info()
        images = await self._api.images() if self._backend.report_images else []
        return describe(
            self._identity.backend, self._settings, self._info, labels_of_images(images, self._backend.report_images)
        )

    async def status(self, record: Record) -> Status:
        if record.state is State.ENDED:
            return Status(Phase.ENDED, record.exit_code, record.reason)
        inspected = await self._api.inspect(self._identity.name(record.key))
        stage = None if inspected is None else seen_in(inspected).stage
        running = stage in (Stage.RUNNING, Stage.EXITED)  # exited: its end is about to be told
        return Status(Phase.RUNNING if running else Phase.ACCEPTED, reason=record.stop_reason or "")

    async def logs(self, record: Record, offset: int, limit: int) -> LogChunk:
        """Raises KeyError when its container is gone."""
        name = self._identity.name(record.key)
        inspected = await self._api.inspect(name)
        if inspected is None and (record.state is State.ENDED or record.created):
            raise KeyError(f"no logs of attempt {record.key}: its container has been removed from {self.name}")
        if inspected is None or seen_in(inspected).stage in (Stage.MADE, Stage.UNSTARTABLE):
            return LogChunk("", offset, ended=False)
        chunk, over = await self._outputs.read(name, offset, limit, lambda: self._api.output(name))
        if not over:
            return chunk
        # The stream also ends when the engine does; only a container that has ended prints nothing more.
        inspected = await self._api.inspect(name)
        ended = inspected is None or seen_in(inspected).stage is Stage.EXITED
        return LogChunk(chunk.text, chunk.next_offset, ended)

    # --- how the host is -------------------------------------------------------------------------------------

    async def _meet(self) -> None:
        await self._api.greet()
        node = await self.describe()
        twin = self._twin_of(engine_id(self._info), self.name)
        if twin is not None:
            raise DockerUnreachable(
                f"it is the same engine as host {twin!r} (same id, host name and folder); remove one of them from the "
                "settings, or give machines that were cloned different host names"
            )
        now = moment(str(self._info.get("SystemTime", "")))
        self.attempts.set_clock(time.time() if now is None else now)
        self._broken.clear()
        self.trouble = ""
        self.attempts.reachable.set()
        await self._announce(node)
        await self._look()

    async def _announce(self, node: Node) -> None:
        if node != self._told and await self._tell(NodeJoined(node)):
            self._told = node
            self._said_offline = False

    async def _fell_silent(self, reason: str) -> None:
        self.attempts.reachable.clear()
        self.trouble = reason
        if self._said_offline:
            return
        _log.warning("host %s is offline: %s", self.name, reason)
        if await self._tell(NodeHealthChanged(self.name, False, reason)):
            self._said_offline = True
            self._told = None  # when it is back, it joins again, which also says that it is online

    async def _tell(self, event: NodeJoined | NodeHealthChanged | NodeObserved) -> bool:
        """False if the receiver has trouble of its own, which says nothing about the host; it will be told again."""
        try:
            await self._report(event)
        except Exception:
            _log.exception("host %s: a report failed and will be made again", self.name)
            return False
        return True

    def _in_trouble(self) -> None:
        """Somebody got no answer: find out."""
        self.attempts.reachable.clear()
        self._broken.set()

    # --- what happens there ----------------------------------------------------------------------------------

    async def _keep_in_touch(self) -> None:
        """Until the connection breaks; then once more at once, and only if that fails the host is offline."""
        tasks = [
            asyncio.create_task(work, name=f"docker: {what} of {self.name}")
            for what, work in (
                ("events", self._hear()),
                ("looks", self._look_on()),
                ("use", self._observe_on()),
                ("tidying", self._tidy_on()),
                ("trouble", self._wait_for_trouble()),
            )
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
        for task, error in zip(tasks, found, strict=True):
            if task in done and isinstance(error, Exception) and not isinstance(error, DockerUnreachable):
                raise error

    async def _wait_for_trouble(self) -> None:
        await self._broken.wait()

    async def _hear(self) -> None:
        since = moment(str(self._info.get("SystemTime", ""))) or time.time()
        async for event in self._api.events(since - EVENTS_BEFORE_S, HEARD):
            if event.get("Type") == "image":
                self._look_again.set()
                continue
            key = self._identity.key_of((event.get("Actor") or {}).get("Attributes") or {})
            if key is not None:
                self.attempts.wake(key)

    async def _look_on(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._backend.look_interval_s):
                    await self._look_again.wait()
            except TimeoutError:
                pass
            self._look_again.clear()
            await self._api.greet()  # answers soon, or not at all
            await self._announce(await self.describe())
            await self._look()
            await self._outputs.close_idle()

    async def _look(self) -> None:
        """At every container of ours that lives, and every attempt that should have one."""
        statuses = LIVE if self._adopted else None  # at first also at those that ended and may be unknown
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

    async def _observe_on(self) -> None:
        while True:
            await self._tell(NodeObserved(self.name, await self._observer.observe()))
            await asyncio.sleep(self._backend.observe_interval_s)

    async def _tidy_on(self) -> None:
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
        except DockerApiError as error:  # the host is well all the same; the next look tries again
            _log.warning("host %s: cannot remove container %s: %s", self.name, name, error)

    def _body_of(self, assignment: Assignment) -> dict[str, Any]:
        return container_body(assignment, self._identity, self._settings, self._backend, cores(self._info))
