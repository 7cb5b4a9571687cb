"""Route that reads an expression without using it: is it good, what else says the same, which nodes satisfy it."""

from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from dovetail.api.body import model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.replies import Json
from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.explaining import why_not
from dovetail.constraints.program import NodeProgram, compile_node
from dovetail.constraints.structure import structure_of, text_of
from dovetail.control.plane import ControlPlane
from dovetail.model.text.strict import Name, Strict
from dovetail.model.workloads.constraint import Expression
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE

router = APIRouter(prefix="/constraints", tags=["policies"])

MOST_EXAMPLES = 5


class Question(Strict):
    """An expression as text or as a structure; names of workloads in it are meant in the namespace."""

    expression: Expression
    namespace: Name = DEFAULT_NAMESPACE


@router.post("/check", openapi_extra=takes(Question))
async def check(request: Request) -> Response:
    """Whether an expression about nodes can be used (`ok`, else `error` and `caret` say where it goes wrong), the same
    as text and as a structure, and how many nodes satisfy it now, with some that do not and why."""
    asked = await model_in(request, Question)
    try:
        text = text_of(asked.expression)
        program = compile_node(text)
    except ExpressionError as error:
        return Json({"ok": False, "error": str(error), "caret": error.caret})
    return Json(
        {
            "ok": True,
            "text": text,
            "structure": structure_of(text),
            "reads": sorted(program.reads),
            "nodes": _nodes(plane_of(request), program, asked.namespace),
        }
    )


def _nodes(plane: ControlPlane, program: NodeProgram, namespace: str) -> dict[str, Any]:
    view = View(plane.engine.state.cluster)
    held = program.holds(view, namespace)
    mask = (np.full(view.size, held) if isinstance(held, bool) else held) & view.present
    failing = np.flatnonzero(view.present & ~mask)
    examples = [
        {"node": view.name(int(row)), "why": why_not(program, view, namespace, int(row))}
        for row in failing[:MOST_EXAMPLES]
    ]
    return {"satisfying": int(mask.sum()), "of": int(view.present.sum()), "failing": examples}
