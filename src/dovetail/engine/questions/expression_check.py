"""How many nodes satisfy an expression now, and why some do not."""

from typing import NamedTuple

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import NodeProgram, why_not
from dovetail.engine.state.engine_state import EngineState


class ExpressionCheck(NamedTuple):
    """`failing`: some nodes that do not satisfy it, each with the reason."""

    satisfying: int
    nodes: int
    failing: list[tuple[str, str]]


def check_expression(state: EngineState, program: NodeProgram, namespace: str, most_failing: int) -> ExpressionCheck:
    view = View(state.cluster)
    held = program.holds(view, namespace)
    mask = (np.full(view.size, held) if isinstance(held, bool) else held) & view.present
    rows = np.flatnonzero(view.present & ~mask)[:most_failing].tolist()
    failing = [(view.name(row), why_not(program, view, namespace, row)) for row in rows]
    return ExpressionCheck(int(mask.sum()), int(view.present.sum()), failing)
