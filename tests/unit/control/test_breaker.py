"""The circuit breaker: when it opens, what it lets through, when it closes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import pytest
from tests.patience import until

from dovetail.control.backends import breaker as module
from dovetail.control.backends.breaker import FAILURES_UNTIL_OPEN, Breaker, Circuit

SLOW_S = 10.0
A, B, C = 1, 2, 3  # workloads


@dataclass
class Scene:
    answers: bool = False
    waiting: list[int] = field(default_factory=list)
    probes: int = 0
    said: list[tuple[bool, str]] = field(default_factory=list)

    def breaker(self) -> Breaker:
        return Breaker(self._probe, lambda: self.waiting, lambda up, why: self.said.append((up, why)), SLOW_S)

    async def _probe(self) -> bool:
        self.probes += 1
        return self.answers


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.004)


def play(
    scene: Callable[[Scene, Breaker], Awaitable[None]], *, answers: bool = False, waiting: Iterable[int] = (A, B, C)
) -> None:
    async def run() -> None:
        given = Scene(answers, list(waiting))
        one = given.breaker()
        try:
            await asyncio.wait_for(scene(given, one), 20)
        finally:
            await one.end()

    asyncio.run(run())


def circuit_of(one: Breaker) -> Circuit:
    return one.circuit


def break_it(one: Breaker) -> None:
    for subject in (A, B, *[None] * (FAILURES_UNTIL_OPEN - 2)):
        one.failed(subject, "no route")


def test_failures_in_a_row_open_it_and_fewer_do_not() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for _ in range(FAILURES_UNTIL_OPEN - 1):
            one.failed(A, "no route")
        one.succeeded(B, 0.1)
        for _ in range(FAILURES_UNTIL_OPEN - 1):
            one.failed(B, "no route")
        assert circuit_of(one) is Circuit.CLOSED
        one.failed(A, "no route")
        assert circuit_of(one) is Circuit.OPEN
        assert given.said == [(False, "no route")]

    play(scene)


def test_answers_that_take_very_long_count_as_failures() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for subject in range(FAILURES_UNTIL_OPEN):
            one.succeeded(subject, SLOW_S + 2)
        assert given.said == [(False, "answers take 12 s")]

    play(scene)


def test_while_it_is_open_nothing_passes_and_probes_go_on() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        waiting = asyncio.create_task(one.enter())
        await until(lambda: given.probes >= 3, "it is tried several times", 0.001)
        assert not waiting.done()
        assert circuit_of(one) is Circuit.OPEN
        waiting.cancel()

    play(scene)


def test_half_open_lets_one_through_and_its_success_lets_all_through() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        entering = [asyncio.create_task(one.enter()) for _ in range(5)]
        await until(lambda: sum(task.done() for task in entering) == 1, "one is let in", 0.001)
        assert circuit_of(one) is Circuit.HALF_OPEN
        for _ in range(20):
            await asyncio.sleep(0)
        assert sum(task.done() for task in entering) == 1
        one.succeeded(A, 0.1)
        assert sum(await asyncio.gather(*entering)) == 1, "the others are no trials"
        assert given.said == [(False, "no route"), (True, "answers again")]

    play(scene, answers=True)


def test_a_trial_that_fails_opens_it_again_and_the_next_gets_its_turn() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        await one.enter()
        second = asyncio.create_task(one.enter())
        one.failed(C, "still no route")
        assert circuit_of(one) is Circuit.OPEN
        await second
        assert circuit_of(one) is Circuit.HALF_OPEN
        one.succeeded(A, 0.1)
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
        await until(lambda: circuit_of(one) is Circuit.CLOSED, "it is closed", 0.001)
        one.failed(A, "a single failure")
        assert circuit_of(one) is Circuit.CLOSED

    play(scene, answers=True, waiting=())


def test_one_subject_that_fails_again_and_again_opens_nothing_while_the_backend_answers() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for _ in range(5 * FAILURES_UNTIL_OPEN):
            one.failed(A, "500")
            await asyncio.sleep(0.001)
        assert given.probes == 1, "it was asked once, and the subject is to blame from then on"
        assert circuit_of(one) is Circuit.CLOSED
        assert given.said == []

    play(scene, answers=True)


def test_one_subject_that_fails_opens_it_when_the_backend_itself_does_not_answer_either() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for _ in range(FAILURES_UNTIL_OPEN):
            one.failed(A, "no route")
        await until(lambda: circuit_of(one) is Circuit.OPEN, "it is open", 0.001)
        assert given.said == [(False, "no route")]

    play(scene)


def test_a_subject_that_is_to_blame_counts_again_when_it_has_succeeded() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for _ in range(FAILURES_UNTIL_OPEN):
            one.failed(A, "500")
        await until(lambda: given.probes == 1, "it is tried once", 0.001)
        await asyncio.sleep(0)
        break_it(one)
        assert circuit_of(one) is Circuit.CLOSED, "what it fails at does not count"
        one.succeeded(A, 0.1)
        break_it(one)
        assert circuit_of(one) is Circuit.OPEN

    play(scene, answers=True)


def test_subjects_that_fail_alone_though_the_backend_answers_do_not_keep_it_closed_to_others() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        for subject in (A, B, A):
            one.failed(subject, "500")
        assert circuit_of(one) is Circuit.OPEN
        for subject in (A, B):
            assert await one.enter()
            assert one.doubts(subject)
            one.failed(subject, "500")
        assert circuit_of(one) is Circuit.CLOSED
        for _ in range(5):
            one.failed(A, "500")
            one.failed(B, "500")
        assert circuit_of(one) is Circuit.CLOSED
        assert given.said == [(False, "500"), (True, "answers again")]

    play(scene, answers=True, waiting=(A, B))


def test_who_did_not_fail_before_goes_first_and_its_failure_is_news() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        assert await one.enter()
        assert [one.doubts(subject) for subject in (A, B, C)] == [True, True, False]
        one.failed(A, "500")
        assert circuit_of(one) is Circuit.HALF_OPEN, "that was known"
        assert await one.enter()
        one.failed(C, "500")
        assert circuit_of(one) is Circuit.OPEN

    play(scene, answers=True)


def test_who_was_let_in_before_the_trouble_may_not_send_any_more() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        before = await one.enter()
        assert one.admits(before)
        break_it(one)
        assert not one.admits(before)
        trial = await one.enter()
        assert trial
        assert one.admits(trial)
        assert not one.admits(before)

    play(scene, answers=True)


def test_a_probe_that_fails_while_it_is_half_open_is_no_trial_of_anybody() -> None:
    async def scene(given: Scene, one: Breaker) -> None:
        break_it(one)
        assert await one.enter()
        given.answers = False
        one.failed(None, "no route")
        assert circuit_of(one) is Circuit.OPEN

    play(scene, answers=True)
