"""The backend of machines that run their jobs by cloud-init alone: one machine a job, and its end is read from the
machine's console.

Guarantees: what an attempt was ordered and how it ended is on disk before anybody is told. A machine is asked for once
for each attempt, and an attempt is over only when its end was read, or when its machine is gone.
"""

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Awaitable, Mapping
from pathlib import Path

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    LogChunk,
    NodeCredentials,
    NoOutput,
    Phase,
    Price,
    Refusal,
    Report,
    Status,
)
from dovetail.backends.machines.cloud_init.attempts import LAST_WORDS_WITHIN_S, WHOLE_WITHIN_S, JobAttempt
from dovetail.backends.machines.cloud_init.console_lines import ConsoleLines
from dovetail.backends.machines.cloud_init.job_fleet import JobFleet
from dovetail.backends.machines.cloud_init.job_script import job_script, nonce_of, refuse_what_needs_more
from dovetail.backends.machines.cloud_init.settings import CloudInitSettings
from dovetail.backends.machines.kept_output import KeptOutput
from dovetail.backends.machines.provider import ConsoleProvider, Machine, MachineState
from dovetail.backends.machines.settings import MachineSettings
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted, TaskWaiting
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node

CONSOLES_A_LOOK = 20  # clouds answer only so many of these questions a second; the others have their turn next
ANSWERED_WITHIN_S = 2.0
_STANDS_STILL = (MachineState.STOPPED, MachineState.ENDED)

log = structlog.get_logger()


class CloudInitBackend:
    """Implements `dovetail.backends.contract.Backend` and `LaunchingBackend`."""

    def __init__(
        self, name: str, provider: ConsoleProvider, settings: MachineSettings, run: CloudInitSettings, folder: Path
    ) -> None:
        self.name = name
        self.capabilities = Capabilities(processes=True, gpus=True, logs=True, stale_for_s=settings.poll)
        self.fleet = JobFleet(name, provider, settings, folder, self)
        self._provider, self._run, self._folder = provider, run, folder
        self._journal = Journal(folder)
        self._kept = KeptOutput(folder / "output")
        self._secret = b""
        self._attempts: dict[str, JobAttempt] = {}  # those that have not ended, or whose end is not reported
        self._reads: dict[str, asyncio.Task[None]] = {}  # consoles that are being read, by attempt
        self._report: Report | None = None

    def use_credentials(self, credentials: NodeCredentials) -> None:
        self.fleet.use_credentials(credentials)

    async def start(self, report: Report) -> None:
        await self._journal.open()
        await self._journal.forget_old()
        self._secret = await asyncio.to_thread(_secret_in, self._folder)
        self._report = report
        for record in await self._journal.all_unfinished():
            if record.node is not None and record.key not in self._attempts:
                stopping = record.state is State.STOPPING
                self._attempts[record.key] = JobAttempt(record.key, record.node, None, record.created, stopping)
        await self.fleet.start(report)
        for node in self.fleet.used:
            there = self._on(node)
            if not there or all(one.stopping for one in there):
                await self.fleet.discard(node, "its job was stopped, or has ended")

    async def nodes(self) -> list[Node]:
        await self.fleet.machines()  # raises if the provider cannot be reached
        return self.fleet.nodes

    async def prices(self) -> dict[str, Price]:
        return self.fleet.prices()

    async def status(self, key: str) -> Status:
        record = await self._journal.get(key)
        if record is None:
            raise KeyError(key)
        if record.state is State.ENDED:
            return Status(Phase.ENDED, record.exit_code, record.reason)
        attempt = self._attempts.get(key)
        runs = attempt is not None and attempt.started_reported
        return Status(Phase.RUNNING if runs else Phase.ACCEPTED, reason=record.stop_reason or "")

    async def bind(self, assignment: Assignment) -> None:
        key, node = assignment.key, assignment.node
        refuse_what_needs_more(assignment, self.name, self._run, self._provider.user_data_bytes)
        record = await self._journal.get(key)
        if record is None:
            record = await self._take(assignment)
        if record.refused:
            raise Refusal(f"attempt {key} will not run: {record.reason}")
        if record.node != node:
            raise Refusal(f"attempt {key} was bound to {record.node}, and is not bound elsewhere as well")
        if record.state is State.ENDED:
            await self._report_end(record)
        else:
            await self._go_on(assignment, record)

    async def _take(self, assignment: Assignment) -> Record:
        """Write it down, if its node can take it."""
        key, node = assignment.key, assignment.node
        if not self.fleet.offers(node):
            raise Refusal(f"{node} is not offered any more", FailureCause.BACKEND)
        others = [one.key for one in self._on(node) if one.key != key and not one.has_ended and not one.stopping]
        if others:
            words = f"{node} has attempt {others[0]}; a machine without an agent runs one job"
            raise Refusal(words, FailureCause.BACKEND)
        self._attempts.setdefault(key, JobAttempt(key, node))  # first: no other comes in between
        record = await self._journal.order(key, node)
        if record.state is State.ENDED:
            self._attempts.pop(key, None)
        return record

    async def _go_on(self, assignment: Assignment, record: Record) -> None:
        attempt = self._attempts.setdefault(record.key, JobAttempt(record.key, assignment.node))
        attempt.assignment, attempt.launched = assignment, attempt.launched or record.created
        if record.stop_reason is not None:
            return
        if attempt.launched and assignment.node not in self.fleet:
            await self._end(attempt, None, f"lost: the machine of {assignment.node} is gone")
        elif not attempt.launched and not self.fleet.offers(assignment.node):
            await self.refuse(assignment.node, f"{assignment.node} is not offered any more", FailureCause.BACKEND)
        else:
            await self.fleet.want(assignment.node)

    async def stop(self, key: str, reason: str) -> None:
        record = await self._journal.stop(key, reason)
        attempt = self._attempts.get(key)
        if record.state is State.ENDED:
            await self._report_end(record)
            return
        assert record.node is not None, "it was launched somewhere"
        if attempt is None:
            attempt = self._attempts[key] = JobAttempt(key, record.node, None, record.created)
        attempt.stopping = True
        if record.node in self.fleet:
            await self.fleet.discard(record.node, reason)
        else:
            await self._end(attempt, None, reason)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            record = await self._journal.get(assignment.key)
            if record is None:
                await self._journal.order(assignment.key, assignment.node, created=True)
                record = await self._journal.end(assignment.key, None, "lost: there is no trace of it", ran=True)
            if record.state is State.ENDED:
                await self._report_end(record)
            else:
                await self._go_on(assignment, record)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        if self._kept.has(key):
            return await self._kept.logs(key, offset, limit)
        record = await self._journal.get(key)
        if record is None or record.node is None:
            raise KeyError(key)
        if record.state is State.ENDED:
            raise NoOutput("its machine was gone before its output could be read")
        return LogChunk("", max(0, offset), ended=False)  # it comes with the end

    async def close(self) -> None:
        await self.fleet.close()
        await cancel(*self._reads.values())
        await self._kept.close()
        await self._journal.close()
        self._report = None

    # --- for the fleet -----------------------------------------------------------------------------------------

    def _on(self, node: str) -> list[JobAttempt]:
        return [one for one in self._attempts.values() if one.node == node]

    def assigned(self, node: str) -> list[Assignment]:
        """What waits for a machine that was not asked for yet."""
        found = [one for one in self._on(node) if not (one.has_ended or one.stopping or one.launched)]
        return [one.assignment for one in found if one.assignment is not None]

    def waiting(self, node: str) -> list[Assignment]:
        found = [one for one in self._on(node) if not (one.has_ended or one.stopping or one.started_reported)]
        return [one.assignment for one in found if one.assignment is not None]

    def is_busy(self, node: str) -> bool:
        return bool(self._on(node))

    def has_agent(self, node: str) -> bool:  # noqa: ARG002 - no machine has one
        return False

    def forget(self, node: str) -> None:
        pass

    async def script(self, node: str, token: str) -> str | None:
        wanted = [one for one in self._on(node) if one.assignment is not None and not (one.stopping or one.has_ended)]
        for attempt in wanted:
            record = await self._journal.created(attempt.key)
            if record.state is not State.ORDERED or attempt.assignment is None:
                continue
            attempt.launched, attempt.token = True, token
            return job_script(attempt.assignment, nonce_of(self._secret, attempt.key, token), self._run.linger)
        return None

    async def give_up(self, node: str, reason: str) -> None:
        """Its machine is gone: what was launched there does not run any more."""
        for attempt in [one for one in self._on(node) if one.launched and not one.has_ended]:
            await self._end(attempt, None, f"lost: {reason}, and its console has no result")

    async def refuse(self, node: str, reason: str, cause: FailureCause) -> None:
        """The machine never came to be."""
        for attempt in [one for one in self._on(node) if not one.has_ended]:
            record = await self._journal.end(attempt.key, None, reason, ran=False)
            self._attempts.pop(attempt.key, None)
            if attempt.stopping:
                await self._tell_end(record)
            else:
                await self._say(BindFailed(task_of_key(attempt.key), attempt.key, reason, cause))

    # --- consoles ----------------------------------------------------------------------------------------------

    async def look(self, machines: Mapping[str, Machine]) -> None:
        for attempt in [one for one in self._attempts.values() if one.has_ended]:
            await self._and_go_on(attempt, self._report_ended(attempt))  # it could not be reported before
        waiting = [one for one in self._attempts.values() if one.launched and not (one.stopping or one.has_ended)]
        seen = [one for one in waiting if one.node in machines and not one.silent]
        turn = sorted(seen, key=lambda one: (machines[one.node].state not in _STANDS_STILL, one.read_at))
        reads = [self._reading(one, machines[one.node]) for one in turn[:CONSOLES_A_LOOK]]
        if reads:  # one that takes longer is judged at a later look, and keeps no other waiting
            await asyncio.wait(reads, timeout=ANSWERED_WITHIN_S)
        for attempt in seen:
            await self._and_go_on(attempt, self._judge(attempt, machines[attempt.node]))

    async def _and_go_on(self, attempt: JobAttempt, step: Awaitable[None]) -> None:
        """What fails for one attempt keeps no other waiting, and is tried again at the next look."""
        try:
            await step
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            log.warning("looking after a job failed", backend=self.name, key=attempt.key, error=words)

    def has_last_words(self, node: str) -> bool:
        return all(one.silent or one.stopping or one.has_ended for one in self._on(node) if one.launched)

    def _reading(self, attempt: JobAttempt, machine: Machine) -> asyncio.Task[None]:
        known = self._reads.get(attempt.key)
        if known is None:
            known = asyncio.create_task(self._read(attempt, machine), name=f"console of {machine.id}")
            self._reads[attempt.key] = known
            known.add_done_callback(lambda _: self._reads.pop(attempt.key, None))
        return known

    async def _read(self, attempt: JobAttempt, machine: Machine) -> None:
        attempt.read_at, attempt.token = time.monotonic(), machine.token
        if attempt.lines is None:
            attempt.lines = ConsoleLines(nonce_of(self._secret, attempt.key, machine.token))
        try:
            found = await self._provider.console(machine)
        except Exception as error:  # asked again at the next look
            words = f"the console of machine {machine.id} could not be read: {type(error).__name__}: {error}"
            if words != attempt.trouble and not attempt.started_reported:
                await self._say(TaskWaiting(task_of_key(attempt.key), attempt.key, words))
            attempt.trouble = words
        else:
            attempt.live = found.live
            attempt.lines.take(found.text)
            if machine.state in _STANDS_STILL and found.live:
                attempt.silent = True

    async def _judge(self, attempt: JobAttempt, machine: Machine) -> None:
        """What follows from what was read of it so far."""
        lines = attempt.lines
        if lines is None or attempt.stopping:
            return
        stands_still = machine.state in _STANDS_STILL
        if stands_still and attempt.lasts_s("stands still") > LAST_WORDS_WITHIN_S:
            attempt.silent = True
        if lines.started and not attempt.started_reported:
            await self._say(TaskStarted(task_of_key(attempt.key), attempt.key))
            attempt.started_reported = True
        if lines.end is not None:
            if lines.whole or attempt.silent or attempt.lasts_s("says its end") > WHOLE_WITHIN_S:
                await self._kept.keep(attempt.key, lines.output())
                await self._end(attempt, lines.end.exit_code, lines.end.reason)
        elif attempt.silent and machine.state is MachineState.STOPPED:
            why = f": {machine.reason}" if machine.reason else ""
            await self._end(
                attempt, None, f"lost: machine {machine.id} stands still, and its console has no result{why}"
            )
        elif machine.state is MachineState.RUNNING and (words := attempt.overdue(self._run.starts_within)):
            record = await self._journal.stop(attempt.key, f"machine {machine.id} runs, but {words}")
            attempt.stopping = True
            await self.fleet.discard(attempt.node, record.stop_reason or words)

    # --- ends --------------------------------------------------------------------------------------------------

    async def _end(self, attempt: JobAttempt, exit_code: int | None, reason: str) -> None:
        """Write it down, say it, and end its machine. What of this fails is repeated at the next look."""
        known = await self._journal.get(attempt.key)
        if exit_code is None and known is not None and known.stop_reason is not None:
            reason = known.stop_reason
        await self._journal.end(attempt.key, exit_code, reason, ran=True)
        attempt.has_ended = True
        await self._report_ended(attempt)

    async def _report_ended(self, attempt: JobAttempt) -> None:
        record = await self._journal.get(attempt.key)
        assert record is not None, attempt.key
        await self._report_end(record)
        await self.fleet.discard(attempt.node, "its job has ended", attempt.token)

    async def _report_end(self, record: Record) -> None:
        attempt = self._attempts.get(record.key)
        if record.exit_code is not None and (attempt is None or not attempt.started_reported):
            await self._say(TaskStarted(task_of_key(record.key), record.key))
        await self._tell_end(record)
        self._attempts.pop(record.key, None)

    async def _tell_end(self, record: Record) -> None:
        await self._say(TaskFinished(task_of_key(record.key), record.key, record.exit_code, record.reason))

    async def _say(self, event: BindFailed | TaskFinished | TaskStarted | TaskWaiting) -> None:
        if self._report is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        await self._report(event)


def _secret_in(folder: Path) -> bytes:
    """What only this control plane knows; made at the first start."""
    path = folder / "secret"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        new = path.with_suffix(f".{os.getpid()}")
        new.touch(0o600)
        new.write_bytes(secrets.token_bytes(32))
        try:
            os.link(new, path)
        finally:
            new.unlink()
    return path.read_bytes()
