"""Routes of services: work that stays up. Apply definitions, scale, update, go back, remove, look."""

from typing import Annotated

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.protocol.body import Namespace, model_in, plane_of, services_in
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import AcceptedJson, Json
from dovetail.api.protocol.row_list import PageQuery, RowList, SortedBy, fields
from dovetail.control.service_controller.desk import Applied, ServiceStatus
from dovetail.model.services.service import Service
from dovetail.model.text.quantity import Count
from dovetail.model.text.strict import MAX_NAME, Strict
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses import ItemPage
from dovetail.responses.services import AppliedService, AppliedServices, ReplicaRow, ServiceDetail, ServiceRow

router = Routes(prefix="/services", tags=["services"])

By = Annotated[str, Query(max_length=MAX_NAME, description="who makes the change, for its history")]


def _typed(namespace: str, name: str) -> str:
    """As it can be typed from anywhere."""
    return name if namespace == DEFAULT_NAMESPACE else f"{namespace}/{name}"


SERVICES: RowList[ServiceRow] = RowList(
    sorts={
        "name": lambda row: _typed(row["namespace"], row["name"]),
        "ready": lambda row: row["ready"] / row["replicas"] if row["replicas"] else 1.0,
        "rollout": lambda row: "removed" if row["removed"] else row["rollout"],
    }
    | fields("revision", "made_at"),
    searched=lambda row: (_typed(row["namespace"], row["name"]),),
    counted=lambda row: "short" if row["ready"] < row["replicas"] else "ready",
)


class ServiceQuery(PageQuery):
    namespace: Annotated[str | None, Field(max_length=200, description="only of this one")] = None
    sort: Annotated[str, SortedBy(SERVICES.sorts)] | None = None


class ScaleWish(Strict):
    """How many replicas there should be."""

    replicas: Annotated[Count, Field(le=10_000)]


class UndoWish(Strict):
    """Which revision to go back to; without one, that before the present one."""

    revision: Annotated[int, Field(ge=1, le=10**9)] | None = None


def _row(status: ServiceStatus) -> ServiceRow:
    record = status.record
    return {
        "namespace": record.namespace,
        "name": record.name,
        "replicas": 0 if record.removed else record.replicas,
        "ready": status.ready,
        "updated": sum(one.revision == record.target for one in status.replicas),
        "revision": record.target,
        "rollout": str(record.rollout),
        "message": status.message,
        "removed": record.removed,
        "made_at": min(one.made_at for one in record.revisions),
    }


def _replicas(status: ServiceStatus) -> list[ReplicaRow]:
    record = status.record
    name = _typed(record.namespace, record.name)
    return [
        {
            "name": f"{name}.{one.index}",
            "index": one.index,
            "revision": one.revision,
            "workload": one.workload,
            "state": one.state,
            "ready": one.ready,
            "message": one.message,
            "restarts": one.restarts,
            "node": one.node,
            "address": one.address,
            "ports": one.ports,
            "started_at": one.started_at,
        }
        for one in status.replicas
    ]


def _detail(status: ServiceStatus) -> ServiceDetail:
    record = status.record
    return {
        **_row(status),
        "spec": record.spec.model_dump(mode="json", exclude_unset=True),
        "items": _replicas(status),
        "revisions": [
            {
                "number": one.number,
                "made_at": one.made_at,
                "cause": one.cause,
                "current": one.number == record.target,
                "stable": one.number == record.stable,
                "image": one.spec.run.image,
                "command": one.spec.run.command,
            }
            for one in record.revisions
        ],
    }


def _applied(done: Applied) -> AppliedService:
    return {
        "namespace": done.spec.namespace,
        "name": done.spec.name,
        "outcome": str(done.outcome),
        "revision": done.revision,
        "replaced": done.replaced,
        "changes": [{"field": one.field, "before": one.before, "after": one.after} for one in done.changes],
    }


@router.post("", openapi_extra=takes(Service, many="services"))
async def apply(request: Request, dry_run: bool = False, by: By = "") -> Json[AppliedServices]:
    """Make services, or change them: what is written is what there should be. Durable when this answers; replicas
    follow. `dry_run` only says what would be created, changed in place or replaced."""
    specs = await services_in(request)
    done = await plane_of(request).services.apply(specs, by, dry_run=dry_run)
    return Json({"services": [_applied(one) for one in done]})


@router.get("")
async def services(request: Request, query: Annotated[ServiceQuery, Query()]) -> Json[ItemPage[ServiceRow]]:
    """Services, by namespace and name: all, or a page of those whose name contains `search`. `sort=ready` puts those
    first that lack most of their replicas. `counts`: `ready` have all of them, `short` have not."""
    found = await plane_of(request).services.all(query.namespace)
    return Json(SERVICES.page([_row(status) for status in found], query))


@router.get("/{ref}")
async def service(request: Request, ref: str, namespace: Namespace = None) -> Json[ServiceDetail]:
    """One service, with its replicas and its revisions."""
    return Json(_detail(await plane_of(request).services.get(ref, namespace)))


@router.put("/{ref}/scale", openapi_extra=takes(ScaleWish))
async def scale(request: Request, ref: str, namespace: Namespace = None) -> AcceptedJson[ServiceRow]:
    """Have more or fewer replicas. Those with the highest index go first."""
    wish = await model_in(request, ScaleWish)
    return AcceptedJson(_row(await plane_of(request).services.scale(ref, namespace, wish.replicas)))


@router.post("/{ref}/undo", openapi_extra=takes(UndoWish))
async def undo(request: Request, ref: str, namespace: Namespace = None) -> AcceptedJson[ServiceRow]:
    """Go back to an earlier revision, as an update does."""
    wish = await model_in(request, UndoWish)
    return AcceptedJson(_row(await plane_of(request).services.undo(ref, namespace, wish.revision)))


@router.post("/{ref}/restart")
async def restart(request: Request, ref: str, namespace: Namespace = None, by: By = "") -> AcceptedJson[ServiceRow]:
    """Replace every replica by a new one of the same definition, as an update does."""
    return AcceptedJson(_row(await plane_of(request).services.restart(ref, namespace, by)))


@router.delete("/{ref}")
async def remove(request: Request, ref: str, namespace: Namespace = None) -> AcceptedJson[ServiceRow]:
    """Stop its replicas and forget it."""
    return AcceptedJson(_row(await plane_of(request).services.remove(ref, namespace)))
