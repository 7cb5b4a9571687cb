"""The backend: writes orders into the shared folder, and reports what the machines write there.

It remembers nothing that is not in the folder, so a restart loses nothing. What blocks (the folder may well be on the
other side of a network) runs on threads. One task looks at everything that is not over, again and again, and makes all
reports: so those about one key come in order.
"""

import asyncio
import logging
import time
from codecs import getincrementaldecoder
from collections.abc import Mapping
from pathlib import Path

from dovetail.backends.contract import Assignment, Capabilities, LogChunk, Phase, Price, Refusal, Report, Status
from dovetail.model.command import task_of_key
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, TaskFinished, TaskStarted
from dovetail.model.node import Node
from dovetail.model.workloads.workload import WorkloadKind
from dovetail_example_backend.kind import Settings
from dovetail_example_backend.spool import NOBODY, Run

LONGEST_CHARACTER = 4  # bytes of UTF-8: reading fewer might never get on

_log = logging.getLogger(__name__)


class SpoolBackend:
    """Implements `dovetail.backends.contract.Backend`."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.capabilities = Capabilities(processes=True, logs=True, stale_for_s=settings.poll)
        self._settings = settings
        self._spool = Path(settings.folder)
        self._watched: dict[str, bool] = {}  # by key: whether its start was reported
        self._alive = Pulse(settings.silent_after)
        self._known: dict[str, Node] = {}
        self._watching: asyncio.Task[None] | None = None

    # --- asking ------------------------------------------------------------------------------------------------

    async def nodes(self) -> list[Node]:
        return list((await asyncio.to_thread(self._read_nodes)).values())

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(node.name for node in await self.nodes())

    async def status(self, key: str) -> Status:
        return await asyncio.to_thread(self._status, key)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await asyncio.to_thread(self._read_output, key, offset, limit)

    # --- telling -----------------------------------------------------------------------------------------------

    async def bind(self, assignment: Assignment) -> None:
        spec = assignment.spec
        if spec.kind is not WorkloadKind.JOB or spec.run.image is not None or not spec.run.command:
            raise Refusal(f"workload {spec.name!r} is not a job with a command and without an image")
        await asyncio.to_thread(self._bind, assignment)
        self._watch(assignment.key)

    async def stop(self, key: str, reason: str) -> None:
        await asyncio.to_thread(Run(self._spool, key).ask_to_stop, reason)
        self._watch(key)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            await asyncio.to_thread(self._find_again, assignment.key)
            self._watch(assignment.key)

    # --- beginning and ending ----------------------------------------------------------------------------------

    async def start(self, report: Report) -> None:
        await self._look_at_nodes(report)  # raises where the folder cannot be read: the control plane tries again
        self._watching = asyncio.create_task(self._go_on(report), name=f"{self.name}: watch")

    async def close(self) -> None:
        """What runs goes on running: the machines run it, not we."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
            self._watching = None

    # --- watching ----------------------------------------------------------------------------------------------

    def _watch(self, key: str) -> None:
        """From now on; also says again what may have been said before."""
        self._watched[key] = False

    async def _go_on(self, report: Report) -> None:
        while True:
            await asyncio.sleep(self._settings.poll)
            try:
                await self._look_at_nodes(report)
                for key in list(self._watched):
                    await self._look_at_run(key, report)
            except Exception:  # nobody listens, or the folder is away: what was not said is said at the next look
                _log.exception("backend %s: looking at %s failed; trying again", self.name, self._spool)

    async def _look_at_run(self, key: str, report: Report) -> None:
        started, end = await asyncio.to_thread(lambda: (Run(self._spool, key).started, Run(self._spool, key).end))
        if started and not self._watched.get(key, True):
            await report(TaskStarted(task_of_key(key), key))
            self._watched[key] = True
        if end:
            await report(TaskFinished(task_of_key(key), key, end["exit_code"], end["reason"]))
            self._watched.pop(key, None)

    async def _look_at_nodes(self, report: Report) -> None:
        found = await asyncio.to_thread(self._read_nodes)
        event_count: list[Event] = [NodeJoined(node) for node in found.values() if self._known.get(node.name) != node]
        touched = await asyncio.to_thread(self._touched)
        silence = f"its worker has been silent for {self._settings.silent_after:.0f} s"
        changes = self._alive.changes(touched, time.monotonic())
        event_count += [NodeHealthChanged(name, alive, "" if alive else silence) for name, alive in changes]
        for event in event_count:
            await report(event)
        self._known = found

    # --- on threads --------------------------------------------------------------------------------------------

    def _read_nodes(self) -> dict[str, Node]:
        nodes = (Node.model_validate_json(file.read_bytes()) for file in self._introductions())
        return {
            node.name: node.model_copy(update={"backend": self.name, "kinds": [WorkloadKind.JOB]}) for node in nodes
        }

    def _introductions(self) -> list[Path]:
        """Raises OSError while the folder is away: that no file is there then means nothing."""
        return sorted(path for path in (self._spool / "nodes").iterdir() if path.suffix == ".json")

    def _touched(self) -> dict[str, float]:
        return {file.stem: file.stat().st_mtime for file in self._introductions()}

    def _bind(self, assignment: Assignment) -> None:
        if assignment.node not in {file.stem for file in self._introductions()}:
            raise Refusal(f"no machine {assignment.node!r} has introduced itself in {self._spool}")
        run = Run(self._spool, assignment.key)
        if run.claim == NOBODY:
            raise Refusal(f"{run.key} will not run: {(run.end or {}).get('reason', 'it was stopped')}")
        spec = assignment.spec
        grace_s = 10.0 if spec.disruption.grace is None else spec.disruption.grace
        about = {"DOVETAIL_TASK": str(assignment.task), "DOVETAIL_ATTEMPT": run.key.rpartition(".")[2]}
        env = {**spec.run.env, "DOVETAIL_WORKLOAD": spec.name, **about}
        run.give({"node": assignment.node, "command": spec.run.command, "env": env, "grace_s": grace_s})

    def _find_again(self, key: str) -> None:
        run = Run(self._spool, key)
        if run.order is None:
            run.give_up(f"lost: no trace of it is left in {self._spool}")

    def _status(self, key: str) -> Status:
        run = Run(self._spool, key)
        if (end := run.end) is not None:
            return Status(Phase.ENDED, end["exit_code"], end["reason"])
        if run.started is not None:
            return Status(Phase.RUNNING, reason=run.stop or "")
        if run.order is None and run.stop is None:
            raise KeyError(key)
        return Status(Phase.ACCEPTED, reason=run.stop or "")

    def _read_output(self, key: str, offset: int, limit: int) -> LogChunk:
        run = Run(self._spool, key)
        ended = run.end is not None  # asked first: what was printed before the end is then read
        try:
            with (run.path / "output").open("rb") as file:
                file.seek(offset)
                data = file.read(max(limit, LONGEST_CHARACTER))
                ended = ended and not file.read(1)
        except FileNotFoundError:
            raise KeyError(f"{key} has printed nothing here") from None
        decoder = getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data, final=ended)
        half_a_character, _ = decoder.getstate()
        return LogChunk(text, offset + len(data) - len(half_a_character), ended)


class Pulse:
    """Which machines live, by whether their files still change. The time on a file comes from another clock than ours,
    so it is compared only with what it was before."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s
        self._last: dict[str, tuple[float, float]] = {}  # the time on the file, and when we first saw that
        self._silent: set[str] = set()

    def changes(self, touched: dict[str, float], now_s: float) -> list[tuple[str, bool]]:
        found = []
        for name, at in touched.items():
            if name not in self._last or self._last[name][0] != at:
                self._last[name] = (at, now_s)
            silent = now_s - self._last[name][1] > self._after_s
            if silent != (name in self._silent):
                found.append((name, not silent))
                (self._silent.add if silent else self._silent.discard)(name)
        return found
