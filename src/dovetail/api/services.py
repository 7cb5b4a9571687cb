"""Routes of services: the nodes that they should be on, and those that they should not."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dovetail.api.authorship import Author
from dovetail.api.body import model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.policies import MOST_VIOLATIONS, violation_row
from dovetail.api.replies import Json
from dovetail.api.workloads import Namespace
from dovetail.control.plane import ControlPlane
from dovetail.control.services.service_affinity import NodeRule, ServiceRule, Side
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE

router = APIRouter(prefix="/services", tags=["services"])
Which = Annotated[Side, Path(alias="side")]


def _shown(plane: ControlPlane, rule: ServiceRule, reached: Mapping[str, int]) -> dict[str, Any]:
    rows = plane.engine.state.cluster.rows
    unknown = [node for node in rule.nodes if node not in rows]
    return {
        "namespace": rule.namespace,
        "service": rule.service,
        "kind": str(rule.side),
        "nodes": rule.nodes,
        "required": rule.required,
        "policy": rule.ruling.policy.name,
        "version": rule.ruling.version,
        "set_at": rule.ruling.at,
        "workloads": reached.get(rule.ruling.policy.name, 0),
        "warnings": [f"no node is named {node!r} now" for node in unknown],
    }


@router.get("")
async def services(request: Request) -> Response:
    """The affinity and anti-affinity of every service that has any, by namespace and service."""
    plane = plane_of(request)
    reached = plane.policies.reached()
    return Json({"items": [_shown(plane, rule, reached) for rule in plane.affinity.all()]})


@router.put("/{service}/{side}", openapi_extra=takes(NodeRule))
async def set_affinity(
    request: Request, service: str, side: Which, namespace: Namespace = DEFAULT_NAMESPACE, author: Author = ""
) -> Response:
    """`affinity`: the nodes that tasks of the service prefer, or with `required` must be on; `antiaffinity`: those that
    they avoid, or must not be on. Names that no node has now are kept, with a warning."""
    plane = plane_of(request)
    rule, outcome = await plane.affinity.set(namespace, service, side, await model_in(request, NodeRule), author)
    return Json(
        {
            **_shown(plane, rule, plane.policies.reached()),
            "changed": outcome.changed,
            "reconsidered": outcome.reconsidered,
            "violating": len(outcome.violations),
            "violations": [violation_row(one) for one in outcome.violations[:MOST_VIOLATIONS]],
        }
    )


@router.get("/{service}/{side}")
async def affinity(request: Request, service: str, side: Which, namespace: Namespace = DEFAULT_NAMESPACE) -> Response:
    plane = plane_of(request)
    return Json(_shown(plane, plane.affinity.get(namespace, service, side), plane.policies.reached()))


@router.delete("/{service}/{side}", status_code=204)
async def clear_affinity(
    request: Request, service: str, side: Which, namespace: Namespace = DEFAULT_NAMESPACE, author: Author = ""
) -> Response:
    await plane_of(request).affinity.remove(namespace, service, side, author)
    return Response(status_code=204)
