"""What is to be reported: the ends that the control plane has not taken yet, and everything that runs.

What runs is repeated with every report, so that a control plane that was restarted, or has given an attempt up
meanwhile, learns what is there, and can say that it is to be stopped.
"""

import asyncio

from dovetail.model.event import TaskFinished, TaskStarted
from dovetail.responses.nodes import ReportedTask

MOST_AT_ONCE = 10_000


class ReportOutbox:
    def __init__(self) -> None:
        self._starts: dict[str, ReportedTask] = {}  # not reported yet; each before its end
        self._waiting: dict[str, ReportedTask] = {}  # ends that were not taken yet
        self._running: dict[str, ReportedTask] = {}
        self.filled = asyncio.Event()  # with something new

    def add(self, event: TaskStarted | TaskFinished) -> None:
        key = event.key
        if isinstance(event, TaskStarted):
            if key not in self._waiting:
                self._starts[key] = self._running[key] = {"key": key, "state": "running"}
        else:
            self._running.pop(key, None)
            reason = event.reason[:1000]
            self._waiting[key] = {"key": key, "state": "finished", "exit_code": event.exit_code, "reason": reason}
        self.filled.set()

    def forget(self, key: str) -> None:
        """It runs on elsewhere."""
        self._starts.pop(key, None)
        self._running.pop(key, None)

    def next(self) -> list[ReportedTask]:
        """Ends first: what runs can wait for the next report."""
        self.filled.clear()
        others = [report for key, report in self._running.items() if key not in self._starts]
        return [*self._starts.values(), *self._waiting.values(), *others][:MOST_AT_ONCE]

    def taken(self, reports: list[ReportedTask]) -> list[str]:
        """The control plane has these. Returns the attempts whose end is among them."""
        for report in reports:
            if self._starts.get(report["key"]) is report:
                del self._starts[report["key"]]
        ended = [report["key"] for report in reports if self._waiting.get(report["key"]) is report]
        for key in ended:
            del self._waiting[key]
        if self._waiting:
            self.filled.set()
        return ended
