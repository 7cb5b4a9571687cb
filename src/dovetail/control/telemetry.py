"""Structured logs: one JSON object a line, or a readable line on a console, always on stderr.

Decision lines carry what the seeds' operators look for: the load and score of each candidate, the node selected, and
its CPU, memory and disk in use.
"""

import logging
import sys
from typing import Any

import orjson
import structlog

from dovetail.engine.questions import Questions
from dovetail.model.record import Batch, Decision
from dovetail.model.resources import CPU, DISK, MEMORY, show_amount

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


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
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class DecisionLog:
    """Made only where the log's level lets its lines through: they cost more than the decisions."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._log = structlog.get_logger()

    def write(self, batch: Batch, names: dict[int, str]) -> None:
        for decision in batch.changes.decisions:
            name = f"{names.get(decision.task.workload, decision.task.workload)}.{decision.task.replica}"
            if decision.node is None:
                self._log.info(
                    f"Cannot place {name}: {decision.explanation.message}",
                    task=name,
                    outcome=str(decision.explanation.outcome),
                    profile=decision.explanation.profile,
                )
            else:
                self._placed(decision, name, decision.node)

    def _placed(self, decision: Decision, name: str, node: str) -> None:
        use = self._questions.in_use(node, (CPU, MEMORY, DISK))
        if use is None:
            return  # the node left in the same slice
        used = {name: f"{show_amount(name, part)}/{show_amount(name, whole)}" for name, part, whole in use}
        self._log.info(
            f"Selected node {node} for {name} using {decision.explanation.profile} - "
            f"CPU: {used[CPU]}, Memory: {used[MEMORY]}, Disk: {used[DISK]}",
            task=name,
            node=node,
            profile=decision.explanation.profile,
            funnel=[step.remaining for step in decision.explanation.funnel],
            candidates=[
                {"node": line.node, "load": round(line.load, 4), "score": round(line.total, 4)}
                for line in decision.explanation.best
            ],
        )
