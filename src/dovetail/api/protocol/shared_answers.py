"""Answers that callers share: who accepts one that is some seconds old (`Cache-Control: max-age=SECONDS`) gets the one
that was made for another, or waits for the one that is being made.

So ten dashboards that look at the same things cost the server little more than one. Who does not say that gets an
answer of its own, as always.
Guarantees: only answers to GET in JSON are shared, by callers with the same rights; only successes are kept, few and
none of them large. `Age` says how old one is.
"""

import asyncio
import re
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_S = 60
MOST_KEPT = 64
MOST_BYTES = 1 << 20
_MAX_AGE = re.compile(rb"(?:.*[,\s])?max-age=(\d{1,4})(?:[,\s].*)?", re.IGNORECASE)
_JSON = b"application/json"


@dataclass(slots=True)
class _Answer:
    """What was sent, as messages. `route`: who answered, for those who count requests."""

    made_at: float
    messages: list[Message] = field(default_factory=list)
    route: object = None

    @property
    def can_be_kept(self) -> bool:
        size = sum(len(message.get("body", b"")) for message in self.messages)
        return self.messages[0]["status"] == 200 and size <= MOST_BYTES


class _NotJson(Exception):
    """It may be a stream, which has no end to wait for."""


class SharedAnswers:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._made: dict[object, _Answer] = {}
        self._being_made: dict[object, asyncio.Task[_Answer | None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        max_age_s = accepted_age_s(scope)
        if not max_age_s or (caller := scope["state"]["caller"]) is None:  # what is open to all may depend on a cookie
            await self._app(scope, receive, send)
            return
        key = (caller, scope["raw_path"], scope["query_string"])
        now = asyncio.get_running_loop().time()
        answer = self._made.get(key)
        if answer is None or now - answer.made_at > max_age_s:
            answer = await asyncio.shield(self._being_made.get(key) or self._make(key, scope))
        if answer is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = answer.route
        first, *rest = answer.messages
        age = (b"age", b"%d" % max(0.0, now - answer.made_at))
        await send({**first, "headers": [*first["headers"], age]})
        for message in rest:
            await send(message)

    def _make(self, key: object, scope: Scope) -> asyncio.Task[_Answer | None]:
        """On a task of its own: whoever asked first may hang up."""
        task = asyncio.create_task(self._ask(scope), name="an answer for several")
        self._being_made[key] = task
        task.add_done_callback(lambda _: self._keep(key, task))
        return task

    async def _ask(self, scope: Scope) -> _Answer | None:
        """None: it cannot be shared."""
        inner = {**scope, "state": dict(scope["state"])}
        messages: list[Message] = []

        async def receive() -> Message:
            if not messages:
                return {"type": "http.request"}
            return await asyncio.Future()  # nobody hangs up

        is_json = True

        async def send(message: Message) -> None:
            nonlocal is_json
            if message["type"] == "http.response.start":
                is_json = dict(message["headers"]).get(b"content-type", b"").startswith(_JSON)
            if not is_json:
                raise _NotJson
            messages.append(message)

        try:
            await self._app(inner, receive, send)
        except Exception:
            if is_json:
                raise
            return None
        return _Answer(asyncio.get_running_loop().time(), messages, inner.get("route"))

    def _keep(self, key: object, task: asyncio.Task[_Answer | None]) -> None:
        del self._being_made[key]
        self._made.pop(key, None)
        answer = None if task.cancelled() or task.exception() is not None else task.result()
        if answer is None or not answer.can_be_kept:
            return
        self._made[key] = answer
        while len(self._made) > MOST_KEPT:
            del self._made[next(iter(self._made))]  # the oldest


def accepted_age_s(scope: Scope) -> int:
    """How old an answer may be, in seconds. 0: it wants one of its own, or one that cannot be shared."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return 0
    found = 0
    for name, value in scope["headers"]:
        if name == b"accept" and b"event-stream" in value:
            return 0
        if name == b"cache-control" and (match := _MAX_AGE.fullmatch(value)):
            found = min(LONGEST_S, int(match[1]))
    return found
