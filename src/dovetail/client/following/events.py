"""Client methods for events: pages of the past, and the stream of what happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail.client.errors import ConnectError, DovetailError
from dovetail.client.following.reconnecting import Reconnecting
from dovetail.client.transport.transport import API, Transport, events_in

if TYPE_CHECKING:
    from dovetail.responses.system import HistoryPage, HistoryRow, WrittenNote


class StreamEnded(ConnectError):
    """The server ended a stream that goes on for ever, as it does when it stops."""

    sentence = "{} ended the stream ({}); start it with: dovetail serve"


class EventCalls:
    _http: Transport

    def note(self, text: str) -> WrittenNote:
        """Write one line into the history, such as a deployment or a maintenance; charts of the dashboard mark it."""
        return cast("WrittenNote", self._http.json("POST", f"{API}/notes", json={"text": text}))

    def events(
        self,
        *,
        after: int | None = None,
        workload: str | int | None = None,
        node: str | None = None,
        namespace: str | None = None,
        replica: int | None = None,
        kinds: Sequence[str] = (),
        reconnect_s: float = 0.0,
        on_trouble: Callable[[str], None] | None = None,
    ) -> Iterator[HistoryRow]:
        """Events as they happen. `after`: begin after the event with this `seq`. When the server ends the stream, that
        is the end; with `reconnect_s` the stream goes on where it was once the server is back, and `ConnectError` is
        raised if it stays away for so long."""
        where = {"workload": workload, "node": node, "namespace": namespace, "replica": replica, "kind": list(kinds)}
        if not reconnect_s:
            yield from self._event_stream({"after": after, **where})
            return
        again = Reconnecting(reconnect_s, on_trouble)
        if after is None:  # otherwise what happens while the server is away would be missed
            newest = again.ask(lambda: self.event_page(newest=True, limit=1)["items"])
            after = newest[0]["seq"] if newest else 0
        while True:
            trouble: ConnectError | DovetailError = StreamEnded(self._http.url, "the server stops")
            try:
                for event in self._event_stream({"after": after, **where}, again.succeeded):
                    after = event["seq"]
                    yield event
            except (ConnectError, DovetailError) as error:
                trouble = error
            again.failed(trouble)

    def _event_stream(
        self, params: dict[str, Any], on_connect: Callable[[], None] = lambda: None
    ) -> Iterator[HistoryRow]:
        with self._http.stream(f"{API}/events", params, {"Accept": "text/event-stream"}) as answer:
            on_connect()
            for event in events_in(answer.iter_lines()):
                yield cast("HistoryRow", event)

    def past_events(
        self,
        *,
        after: int = 0,
        workload: str | int | None = None,
        node: str | None = None,
        namespace: str | None = None,
        limit: int = 100,
    ) -> list[HistoryRow]:
        """Past events, oldest first."""
        params = {"after": after, "workload": workload, "node": node, "namespace": namespace, "limit": limit}
        return cast("list[HistoryRow]", self._http.items(f"{API}/events", params))

    def event_page(
        self,
        *,
        newest: bool = False,
        after: int | None = None,
        before: int | None = None,
        since: float | None = None,
        workload: str | int | None = None,
        node: str | None = None,
        backend: str | None = None,
        namespace: str | None = None,
        replica: int | None = None,
        kinds: Sequence[str] = (),
        limit: int = 100,
    ) -> HistoryPage:
        """Past events, oldest first or newest first; go on with `cursor` as `after`, or as `before` if the newest come
        first. `since`: seconds since the epoch."""
        params = {
            "newest": newest or None,
            "after": after,
            "before": before,
            "since": since,
            "workload": workload,
            "node": node,
            "backend": backend,
            "namespace": namespace,
            "replica": replica,
            "kind": list(kinds),
            "limit": limit,
        }
        return cast("HistoryPage", self._http.json("GET", f"{API}/events", params=params))
