"""Route that checks an expression without using it: is it valid, how is it written, which nodes satisfy it."""

from fastapi import Request

from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node
from dovetail.constraints.programs.structure import structure_of, text_of
from dovetail.model.text.strict import Name, Strict
from dovetail.model.workloads.constraint import Expression
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses.policies import CheckedConstraint

router = Routes(prefix="/constraints", tags=["policies"])

MOST_EXAMPLES = 5


class ExpressionQuestion(Strict):
    """An expression as text or as a structure. Names of workloads in it belong to the namespace."""

    expression: Expression
    namespace: Name = DEFAULT_NAMESPACE


@router.post("/check", openapi_extra=takes(ExpressionQuestion))
async def check(request: Request) -> Json[CheckedConstraint]:
    """Whether an expression about nodes is valid (`ok`; otherwise `error` and `caret` say where it is wrong), the same
    as text and as a structure, and how many nodes satisfy it now, with some that do not and why."""
    asked = await model_in(request, ExpressionQuestion)
    try:
        text = text_of(asked.expression)
        program = compile_node(text)
    except ExpressionError as error:
        return Json({"ok": False, "error": str(error), "caret": error.caret})
    found = plane_of(request).questions.explanations.check_expression(program, asked.namespace, MOST_EXAMPLES)
    return Json(
        {
            "ok": True,
            "text": text,
            "structure": structure_of(text),
            "reads": sorted(program.reads),
            "nodes": {
                "satisfying": found.satisfying,
                "of": found.nodes,
                "failing": [{"node": node, "why": why} for node, why in found.failing],
            },
        }
    )
