"""What is told of attempts, and how often, when events come late. The engine here is one that answers as told."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from dovetail.backends.attempt_journal import Journal
from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.docker.attempts import DockerAttempts
from dovetail.backends.docker.container import Identity
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.images import Images
from dovetail.model.event import Event, TaskFinished
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

NEVER = "0001-01-01T00:00:00Z"
WORK = Assignment("1.0.1", TaskId(1, 0), "one", Workload.model_validate({"name": "w", "run": {"image": "i"}}))


class Engine:
    """One container, which cannot be started, or ends at once."""

    def __init__(self, *, starts: bool) -> None:
        self._starts = starts
        self._state: dict[str, Any] | None = None

    async def inspect(self, _: str) -> dict[str, Any] | None:
        return None if self._state is None else {"State": self._state, "Config": {}}

    async def create(self, _: str, __: dict[str, Any]) -> None:
        self._state = {"StartedAt": NEVER}

    async def start(self, _: str) -> None:
        if not self._starts:
            raise DockerApiError(500, "no such driver")
        self._state = {"StartedAt": "2026-01-01T00:00:00Z", "ExitCode": 3}

    async def remove(self, _: str) -> None:
        self._state = None

    async def fetch(self, _: str) -> None:
        """An image."""


def play(
    folder: Path, engine: Engine, scene: Callable[[DockerAttempts, list[Event]], Coroutine[Any, Any, None]]
) -> None:
    async def whole() -> None:
        journal, heard = Journal(folder), list[Event]()
        cluster = await journal.open(None)
        await journal.order(WORK.key, WORK.node)

        async def report(event: Event) -> None:
            heard.append(event)

        attempts = DockerAttempts(
            Identity(cluster, "docker"),
            cast("EngineApi", engine),
            journal,
            cast("Images", engine),
            report,
            lambda _: {},
            parallel=1,
            trouble=lambda: None,
        )
        attempts.reachable.set()
        try:
            await scene(attempts, heard)
        finally:
            await attempts.close()
            await journal.close()

    asyncio.run(whole())


async def at_rest(attempts: DockerAttempts) -> None:
    """A late event has been dealt with."""
    active = attempts.wake(WORK.key)
    assert active.task is not None
    await active.task


def test_a_refusal_that_the_bind_has_told_is_not_told_again_by_a_late_event(tmp_path: Path) -> None:
    async def scene(attempts: DockerAttempts, heard: list[Event]) -> None:
        with pytest.raises(Refusal, match="no such driver"):
            await attempts.launch(WORK)
        await at_rest(attempts)
        assert heard == []

    play(tmp_path, Engine(starts=False), scene)


def test_an_end_is_told_once_and_again_to_whoever_asks(tmp_path: Path) -> None:
    async def scene(attempts: DockerAttempts, heard: list[Event]) -> None:
        await attempts.launch(WORK)
        await at_rest(attempts)
        await at_rest(attempts)
        ends = [event for event in heard if isinstance(event, TaskFinished)]
        assert [event.exit_code for event in ends] == [3]
        attempts.end(WORK.key)
        await at_rest(attempts)
        await attempts.launch(WORK)
        await at_rest(attempts)
        assert len([event for event in heard if isinstance(event, TaskFinished)]) == 3

    play(tmp_path, Engine(starts=True), scene)
