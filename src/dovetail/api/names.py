"""Routes of names: what a name stands for, and which names there are, for shells that complete them."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import Namespace, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.api.workloads import summaries_of
from dovetail.control.plane import ControlPlane
from dovetail.control.services.workload_names import typed
from dovetail.responses import ItemList
from dovetail.responses.names import NamedWorkloads

router = Routes(prefix="/names", tags=["names"])

MOST_NAMES = 200  # more than anybody reads in a shell


class NameKind(StrEnum):
    WORKLOADS = "workloads"
    NODES = "nodes"
    QUEUES = "queues"
    PROFILES = "profiles"
    POLICIES = "policies"
    BACKENDS = "backends"
    NAMESPACES = "namespaces"
    SERVICES = "services"


@router.get("")
async def names(
    request: Request,
    kind: NameKind = NameKind.WORKLOADS,
    prefix: Annotated[str, Query(max_length=300, description="only names that begin so")] = "",
) -> Json[ItemList[str]]:
    """The first 200 names of a kind, as they can be typed. Workloads are the newest first, all others sorted."""
    plane = plane_of(request)
    if kind is NameKind.WORKLOADS:
        return Json({"items": await plane.names.beginning(prefix, MOST_NAMES)})
    if kind is NameKind.NAMESPACES:
        known: Iterable[str] = await plane.read(plane.store.namespaces)
    elif kind is NameKind.SERVICES:
        known = await plane.services.names()
    else:
        known = _known(plane, kind)
    return Json({"items": sorted(name for name in known if name.startswith(prefix))[:MOST_NAMES]})


def _known(plane: ControlPlane, kind: NameKind) -> Iterable[str]:
    match kind:
        case NameKind.NODES:
            return plane.questions.nodes.names
        case NameKind.QUEUES:
            return plane.questions.queues.paths
        case NameKind.PROFILES:
            return plane.settings.scheduling.all_profiles()
        case NameKind.POLICIES:
            return plane.questions.policies.by_name
        case _:
            return plane.backends.names


@router.get("/{ref}")
async def named(request: Request, ref: str, namespace: Namespace = None) -> Json[NamedWorkloads]:
    """What a name stands for: one workload, or those of a group; and which task, if it names one. Refused with 409 and
    the candidates if several namespaces have it."""
    found = await plane_of(request).names.find(ref, namespace)
    rows = await summaries_of(plane_of(request), found.workloads)
    first = found.workloads[0]
    return Json(
        {
            "typed": typed(first, found.replica, found.group),
            "replica": found.replica,
            "group": found.group,
            "service": None if found.service is None else f"{first['namespace']}/{found.service}",
            "workloads": rows,
        }
    )
