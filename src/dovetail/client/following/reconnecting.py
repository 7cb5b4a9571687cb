"""Asking again while the server is away: for those who follow something and know how far they came.

Guarantees: bounded. After `for_s` seconds without an answer the last error is raised. What the server refuses is raised
at once, unless it says that it cannot answer now (503).
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dovetail.client.errors import ConnectError, DovetailError
from dovetail.model.backoff import Backoff

if TYPE_CHECKING:
    from threading import Event

T = TypeVar("T")

RECONNECT_S = 120.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
_UNAVAILABLE = 503


class Reconnecting:
    """`on_trouble` hears the error once each time the server goes away. When `interrupted` is set, nothing is asked
    again."""

    def __init__(
        self,
        for_s: float = RECONNECT_S,
        on_trouble: Callable[[str], None] | None = None,
        interrupted: "Event | None" = None,
    ) -> None:
        self._for_s = for_s
        self._interrupted = interrupted
        self._on_trouble = on_trouble
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        self._away_since: float | None = None

    def ask(self, question: Callable[[], T]) -> T:
        """The answer, however often the question has to be repeated."""
        while True:
            try:
                found = question()
            except (ConnectError, DovetailError) as error:
                self.failed(error)
            else:
                self.succeeded()
                return found

    def succeeded(self) -> None:
        self._away_since = None
        self._backoff.reset()

    def failed(self, error: ConnectError | DovetailError) -> None:
        """Pause before the next try. Raises the error if there is no time left, or if asking again cannot help."""
        if isinstance(error, DovetailError) and error.status != _UNAVAILABLE:
            raise error
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
            if self._on_trouble is not None and self._for_s > 0:
                self._on_trouble(str(error))
        if now - self._away_since >= self._for_s or (self._interrupted is not None and self._interrupted.is_set()):
            raise error
        pause = time.sleep if self._interrupted is None else self._interrupted.wait
        pause(self._backoff.next_s())
