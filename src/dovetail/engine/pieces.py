"""Questions that are worked out in pieces, so that decisions go on in between.

A question is a generator. It yields where it may be interrupted, and returns its answer. Rules for whoever writes one:

- No trial is open at a `yield`. A question that places thousands of tasks closes its trial there, and places again what
  it had decided when it goes on: placing costs little, deciding costs much. Each piece decides a part as many as it
  placed again, whatever its time: otherwise thousands of pieces would do little but place again.
- It goes on only while the engine's state is the same as when it began. Whoever runs it compares `Questions.version`
  before each piece and begins anew if that has changed, so an answer is always about one state.
- `is_spent` tells a question with an open trial that the time of its piece is used up. The engine has no clock: the
  control plane brings one. Where nobody does, a question is worked out in one go (`whole`).
"""

from collections.abc import Callable, Generator
from typing import TypeVar

from dovetail.engine.state.engine_state import EngineState

T = TypeVar("T")

Pieces = Generator[None, None, T]
IsSpent = Callable[[], bool]


def never() -> bool:
    return False


def whole(pieces: Pieces[T]) -> T:
    """The answer, without interruption."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            answer: T = end.value
            return answer


def in_one(answer: Callable[[], T]) -> Pieces[T]:
    """A question that is not worth cutting into pieces."""
    yield from ()
    return answer()


def without_trace(state: EngineState, pieces: Pieces[T]) -> Pieces[T]:
    """The same question. Between two pieces the state is as if it had not been asked."""
    while True:
        with state.no_trace():
            try:
                next(pieces)
            except StopIteration as end:
                answer: T = end.value
                return answer
        yield
