"""Heartbeats: when each registered node last reported, and which are silent for too long."""

from collections.abc import Iterable

from dovetail.model.event import NodeHealthChanged


class Heartbeats:
    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._last: dict[str, float] = {}

    def expect(self, names: Iterable[str], now: float) -> None:
        """After a restart: known nodes get one full timeout for their first heartbeat."""
        for name in names:
            self._last.setdefault(name, now)

    def heard(self, name: str, now: float) -> None:
        self._last[name] = now

    def forget(self, name: str) -> None:
        self._last.pop(name, None)

    def silent(self, now: float) -> list[NodeHealthChanged]:
        return [
            NodeHealthChanged(name, False, f"silent for {now - last:.0f} s")
            for name, last in self._last.items()
            if now - last > self._timeout_s
        ]
