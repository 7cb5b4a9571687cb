"""Routes of services: the nodes that their tasks prefer or need, and those that they avoid."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Request

from dovetail.api.policies.policies import effect_of
from dovetail.api.protocol.body import Author, InNamespace, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json, NoContent
from dovetail.control.plane import ControlPlane
from dovetail.control.services.service_affinity import NodeRule, ServiceRule, Side
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses import ItemList
from dovetail.responses.policies import ChangedAffinity, ServiceAffinityRow

router = Routes(tags=["services"])


def _side(request: Request) -> Side:
    """The last part of the path. Each side has a path of its own, which no other route of a service could mean."""
    return Side(request.url.path.rpartition("/")[2])


Which = Annotated[Side, Depends(_side)]


def _shown(plane: ControlPlane, rule: ServiceRule, reached: Mapping[str, int]) -> ServiceAffinityRow:
    unknown = [node for node in rule.nodes if node not in plane.questions.nodes]
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


@router.get("/affinity")
async def affinities(request: Request) -> Json[ItemList[ServiceAffinityRow]]:
    """The affinity and anti-affinity of every service that has any, by namespace and service."""
    plane = plane_of(request)
    reached = plane.questions.policies.reach()
    return Json({"items": [_shown(plane, rule, reached) for rule in plane.affinity.all()]})


@router.put("/services/{service}/affinity", openapi_extra=takes(NodeRule))
@router.put("/services/{service}/antiaffinity", openapi_extra=takes(NodeRule))
async def set_affinity(
    request: Request, service: str, side: Which, namespace: InNamespace = DEFAULT_NAMESPACE, author: Author = ""
) -> Json[ChangedAffinity]:
    """`affinity`: the nodes that tasks of the service prefer, or with `required` must be on; `antiaffinity`: those that
    they avoid, or must not be on. Names that no node has now are kept, with a warning."""
    plane = plane_of(request)
    rule, outcome = await plane.affinity.set(namespace, service, side, await model_in(request, NodeRule), author)
    return Json({**_shown(plane, rule, plane.questions.policies.reach()), **effect_of(outcome)})


@router.get("/services/{service}/affinity")
@router.get("/services/{service}/antiaffinity")
async def affinity(
    request: Request, service: str, side: Which, namespace: InNamespace = DEFAULT_NAMESPACE
) -> Json[ServiceAffinityRow]:
    plane = plane_of(request)
    return Json(_shown(plane, plane.affinity.get(namespace, service, side), plane.questions.policies.reach()))


@router.delete("/services/{service}/affinity")
@router.delete("/services/{service}/antiaffinity")
async def clear_affinity(
    request: Request, service: str, side: Which, namespace: InNamespace = DEFAULT_NAMESPACE, author: Author = ""
) -> NoContent:
    await plane_of(request).affinity.remove(namespace, service, side, author)
    return NoContent()
