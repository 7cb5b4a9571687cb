"""Routes of backends: which there are, how they do, and adding and removing them while the server runs."""

import asyncio
from dataclasses import asdict
from operator import itemgetter
from typing import Annotated, cast

from fastapi import Query, Request
from pydantic import BaseModel, Field

from dovetail.api.protocol.body import Author, Note, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.reading import SOURCE
from dovetail.api.protocol.replies import CreatedJson, Json
from dovetail.api.protocol.row_list import PageQuery, RowList, SortedBy, fields
from dovetail.backends.contract import Capabilities, UnusableSetting
from dovetail.backends.registry import BackendEntry, check_entry, kind_names
from dovetail.backends.settings_file_only import settings_file_fields
from dovetail.control.backends.health import CallHealth
from dovetail.control.services.backends import IN_SETTINGS_FILE, BackendStatus
from dovetail.control.services.own_machine import STEPPED_BACK
from dovetail.control.settings import REGISTERED
from dovetail.control.settings.secret_settings import masked
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import check_name
from dovetail.responses.backends import AddedBackend, BackendDetail, BackendList, BackendRow, RemovedBackend

router = Routes(prefix="/backends", tags=["backends"])

#: What a backend can be, the worst first.
_STATES = ("unusable", "open", "half-open", "starting", "closed")
BACKENDS: RowList[BackendRow] = RowList(
    sorts=fields("name", "kind")
    | {"state": lambda row: _STATES.index(row["state"]) if row["state"] in _STATES else len(_STATES)}
    | fields("nodes", "tasks", "waiting", "latency_p50_s", "latency_p99_s", "errors", "last_success_at"),
    searched=lambda row: (row["name"], row["kind"]),
    counted=itemgetter("state"),
)


class BackendQuery(PageQuery):
    sort: Annotated[str, SortedBy(BACKENDS.sorts)] | None = None


class BackendBody(BaseModel, extra="allow"):
    """The kind, and beside it the settings of that kind."""

    kind: Annotated[str, Field(examples=["simulated"])]


def row(standing: BackendStatus) -> BackendRow:
    member = standing.member
    executor = member.executor
    health = executor.health if executor is not None else CallHealth()
    able = executor.backend.capabilities if executor is not None else Capabilities()
    source = "built-in" if member.name == REGISTERED else "settings" if member.added_at is None else "added"
    return {
        "name": member.name,
        "kind": member.kind,
        "source": source,
        "added_at": member.added_at,
        "state": member.state,
        "problem": standing.problem,
        "nodes": standing.nodes,
        "tasks": standing.tasks,
        "waiting": executor.waiting if executor is not None else 0,
        "calls": health.calls,
        "errors": health.errors,
        "latency_p50_s": health.latency_s(0.5),
        "latency_p99_s": health.latency_s(0.99),
        "last_success_at": health.last_success_at,
        "last_error_at": health.last_error_at,
        "last_error": health.last_error,
        "capabilities": able.words(),
    }


def shown(standing: BackendStatus) -> BackendDetail:
    """Also its settings, as they were given, and without the secrets in them."""
    member = standing.member
    able = member.executor.backend.capabilities if member.executor is not None else Capabilities()
    return {
        **row(standing),
        "sees_own_writes": able.sees_own_writes,
        "stale_for_s": able.stale_for_s,
        "settings": {} if member.entry is None else masked(member.entry.settings),
    }


@router.get("")
async def backends(request: Request, query: Annotated[BackendQuery, Query()]) -> Json[BackendList]:
    """Backends with what they have and how they do: `state` is that of its circuit breaker (closed: it is used; open:
    it is left alone; half-open: one call at a time), or `starting`, or `unusable` where it could not be built.

    Latencies are of the latest 500 calls; `waiting` are commands that it has not answered for sure. All backends, or a
    page of those whose name or kind contains `search`; `sort=state` puts the worst first. `counts` are by state.
    """
    page = BACKENDS.page([row(standing) for standing in plane_of(request).backends.all()], query)
    return Json({**page, "kinds": kind_names()})


@router.get("/{name}")
async def backend(request: Request, name: str) -> Json[BackendDetail]:
    """One backend, with its settings. Secrets are shown as •••."""
    return Json(shown(plane_of(request).backends.get(name)))


@router.put("/{name}", openapi_extra=takes(BackendBody))
async def add(
    request: Request,
    name: str,
    replace: Annotated[bool, Query(description="change the settings of one that is there")] = False,
    author: Author = "",
    note: Note = "",
) -> Json[AddedBackend] | CreatedJson[AddedBackend]:
    """Add a backend, from now on and after restarts. Secrets in its settings are kept encrypted. The history tells of
    it: `GET /api/v1/events?backend=NAME`.

    With `replace`, one that was added before goes on under new settings: what runs there runs on and is found again.
    Refused with 409 for one that is there already, or that stands in the settings of the server; with 422 for settings
    with which it could never work here (a kubeconfig, a socket or a command is missing), and for paths of files and
    programs, which only the settings file of the server may name.
    """
    entry = await model_in(request, BackendEntry)
    if refused := settings_file_fields(entry.settings):
        raise Invalid([Complaint(SOURCE, None, field, IN_SETTINGS_FILE) for field in refused])
    try:
        check_name(name)
        await asyncio.to_thread(check_entry, entry)
    except UnusableSetting as error:
        raise Invalid([Complaint(SOURCE, None, error.field, str(error))]) from None
    except ValueError as error:
        raise Invalid([Complaint(SOURCE, None, "name", str(error))]) from None
    backends = plane_of(request).backends
    is_new = await backends.add(name, entry, replace=replace, author=author, note=note)
    notes = [
        f"{node} takes no new work from now on: {STEPPED_BACK}; dovetail uncordon {node} lets it take work too"
        for node in backends.own_machine.stepped_back()
    ]
    added: AddedBackend = {**shown(backends.get(name)), "notes": notes}
    return CreatedJson(added) if is_new else Json(added)


@router.delete("/{name}")
async def remove(
    request: Request,
    name: str,
    force: Annotated[bool, Query(description="also while tasks run there: they are placed elsewhere")] = False,
    author: Author = "",
    note: Note = "",
) -> Json[RemovedBackend]:
    """Remove a backend that was added, with its nodes. Refused with 409 while tasks hold them, unless `force`.

    `unconfirmed` counts stops that it did not answer within ten seconds: those tasks may run on there.
    """
    removal = await plane_of(request).backends.remove(name, force=force, author=author, note=note)
    return Json(cast("RemovedBackend", asdict(removal)))
