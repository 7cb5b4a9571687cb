"""Structured logs: one JSON object a line, or a readable line on a console, always on stderr.

Decision lines carry what the seeds' operators look for: the load and score of each candidate, the node selected, and
its CPU, memory and disk in use.
"""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog

from dovetail.engine.questions.questions import Questions
from dovetail.model.batch import Batch
from dovetail.model.record import Decision
from dovetail.model.resources import CPU, DISK, MEMORY, show_amount


def configure_logs(level: str, format_: str) -> None:
    renderer: Any = (
        structlog.processors.JSONRenderer(serializer=lambda data, **_: orjson.dumps(data, default=str).decode())
        if format_ == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class DecisionLog:
    """One line per decision. There may be thousands a second, so the JSON lines of a step are written together, without
    the general logger but in its format. Created only if the log level includes them."""

    def __init__(self, questions: Questions, as_json: bool) -> None:
        self._questions = questions
        self._as_json = as_json
        self._log = structlog.get_logger()

    def write(self, batch: Batch, names: dict[int, str]) -> None:
        lines = [line for decision in batch.changes.decisions if (line := self._line(decision, names))]
        if not self._as_json:
            for line in lines:
                self._log.info(**line)
        elif lines:
            tail = {"level": "info", "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z")}
            text = b"\n".join([orjson.dumps(line | tail) for line in lines])
            print(text.decode(), file=sys.stderr, flush=True)  # noqa: T201 (where the logger prints, too)

    def _line(self, decision: Decision, names: dict[int, str]) -> dict[str, Any] | None:
        explanation = decision.explanation
        name = f"{names.get(decision.task.workload, decision.task.workload)}.{decision.task.replica}"
        if decision.node is None:
            return {
                "event": f"Cannot place {name}: {explanation.message}",
                "task": name,
                "outcome": str(explanation.outcome),
                "profile": explanation.profile,
            }
        use = self._questions.nodes.in_use(decision.node, (CPU, MEMORY, DISK))
        if use is None:
            return None  # the node left in the meantime
        cpu, memory, disk = [f"{show_amount(name, part)}/{show_amount(name, whole)}" for name, part, whole in use]
        return {
            "event": f"Selected node {decision.node} for {name} using {explanation.profile} - "
            f"CPU: {cpu}, Memory: {memory}, Disk: {disk}",
            "task": name,
            "node": decision.node,
            "profile": explanation.profile,
            "funnel": [step.remaining for step in explanation.funnel],
            "candidates": [
                {"node": line.node, "load": round(line.load, 4), "score": round(line.total, 4)}
                for line in explanation.best
            ],
        }
