"""The circuit breaker: when it opens, what it lets through, when it closes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from dovetail.control import breaker as module
from dovetail.control.breaker import FAILURES_UNTIL_OPEN, Breaker, Circuit

SLOW_S = 10.0


@dataclass
class Scene:
    answers: bool = False
    idle: bool = False
    probes: int = 0
    said: list[tuple[bool, str]] = field(default_factory=list)

    def breaker(self) -> Breaker:
        return Breaker(self._probe, lambda: self.idle, lambda up, why: self.said.append((up, why)), SLOW_S)

    async def _probe(self) -> bool:
        self.probes += 1
        return self.answers


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.004)


def play(scene: Callable[[Scene, Breaker], Awaitable[None]], *, answers: bool = False, idle: bool = False) -> None:
    async def run() -> None:
        given = Scene(answers, idle)
        one = given.breaker()
        try:
            await asyncio.wait_for(scene(given, one), 20)
        finally:
            await one.end()

    asyncio.run(run())


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(5000):
        if holds():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")


def circuit_of(one: Breaker) -> Circuit:
    return one.circuit


def break_it(one: Breaker) -> None:
    for _ in range(FAILURES_UNTIL_OPEN):
        one.failed("no route")


def test_failures_in_a_row_open_it_and_fewer_do_not() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for _ in range(FAILURES_UNTIL_OPEN - 1):
            one.failed("no route")
        one.succeeded(0.1)
        for _ in range(FAILURES_UNTIL_OPEN - 1):
            one.failed("no route")
        assert circuit_of(one) is Circuit.CLOSED
        one.failed("no route")
        assert circuit_of(one) is Circuit.OPEN
        assert given.said == [(False, "no route")]

    play(scene)


def test_answers_that_take_very_long_count_as_failures() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for _ in range(FAILURES_UNTIL_OPEN):
            one.succeeded(SLOW_S + 2)
        assert given.said == [(False, "answers take 12 s")]

    play(scene)


def test_while_it_is_open_nothing_passes_and_probes_go_on() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        waiting = asyncio.create_task(one.enter())
        await until(lambda: given.probes >= 3)
        assert not waiting.done()
        assert circuit_of(one) is Circuit.OPEN
        waiting.cancel()

    play(scene)


def test_half_open_lets_one_through_and_its_success_lets_all_through() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        waiting = [asyncio.create_task(one.enter()) for _ in range(5)]
        await until(lambda: sum(task.done() for task in waiting) == 1)
        assert circuit_of(one) is Circuit.HALF_OPEN
        for _ in range(20):
            await asyncio.sleep(0)
        assert sum(task.done() for task in waiting) == 1
        one.succeeded(0.1)
        await asyncio.gather(*waiting)
        assert given.said == [(False, "no route"), (True, "answers again")]

    play(scene, answers=True)


def test_a_trial_that_fails_opens_it_again_and_the_next_gets_its_turn() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        await one.enter()
        second = asyncio.create_task(one.enter())
        one.failed("still no route")
        assert circuit_of(one) is Circuit.OPEN
        await second
        assert circuit_of(one) is Circuit.HALF_OPEN
        one.succeeded(0.1)
        assert given.said == [(False, "no route"), (True, "answers again")]

    play(scene, answers=True)


def test_who_was_let_in_and_had_nothing_to_ask_makes_room_for_the_next() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        await one.enter()
        second = asyncio.create_task(one.enter())
        one.withdrew()
        await second
        assert circuit_of(one) is Circuit.HALF_OPEN

    play(scene, answers=True)


def test_with_nothing_to_send_an_answered_probe_closes_it() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        await until(lambda: circuit_of(one) is Circuit.CLOSED)
        one.failed("a single failure")
        assert circuit_of(one) is Circuit.CLOSED

    play(scene, answers=True, idle=True)
