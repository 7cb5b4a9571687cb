"""The line to the control plane: asks again, with growing, random pauses, until it answers."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dovetail.client import ConnectError, DovetailError

T = TypeVar("T")

FIRST_PAUSE_S = 0.5
_GONE = 404
_FORBIDDEN = (401, 403)

_log = logging.getLogger(__name__)


class ServerLine:
    """`introduce`: registers the node again, for a control plane that has forgotten it."""

    def __init__(self, node: str, longest_pause_s: float, introduce: Callable[[], Awaitable[None]]) -> None:
        self._node, self._longest_pause_s, self._introduce = node, longest_pause_s, introduce
        self._cut_off = False

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """The answer, however long it takes until the control plane gives one."""
        pause_s = min(FIRST_PAUSE_S, self._longest_pause_s)
        while True:
            try:
                found = await question()
            except (ConnectError, DovetailError) as error:
                self._note_trouble(error)
                if isinstance(error, DovetailError) and error.status == _GONE:
                    with contextlib.suppress(ConnectError, DovetailError):
                        await self._introduce()  # the node was removed: its token is still good until somebody says no
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
                pause_s = min(2 * pause_s, self._longest_pause_s)
            else:
                if self._cut_off:
                    _log.info("the control plane answers again")
                    self._cut_off = False
                return found

    def _note_trouble(self, error: Exception) -> None:
        if isinstance(error, DovetailError) and error.status in _FORBIDDEN:
            words = f"dovetail token node {self._node} makes it another token"
            _log.error("the control plane does not accept the token of this agent; %s: %s", words, error)
        elif not self._cut_off:
            _log.warning("no answer from the control plane, goes on trying: %s", error)
        self._cut_off = True
