"""The application: routes, errors and description put together around one control plane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

import dovetail
from dovetail.api import (
    backends,
    constraints,
    events,
    failures,
    fragmentation,
    heartbeats,
    logs,
    nodes,
    pages,
    policies,
    problems,
    profiles,
    questions,
    queue,
    queues,
    reservations,
    services,
    system,
    topology,
    workloads,
)
from dovetail.api.description import PROBLEMS, describe
from dovetail.api.envelope import Envelope
from dovetail.control.plane import ControlPlane

PREFIX = "/api/v1"


def create_app(plane: ControlPlane, *, manage_plane: bool = True) -> FastAPI:
    """`manage_plane`: the plane starts and stops with the app; otherwise that is the caller's."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if not manage_plane:
            yield
            return
        await plane.start()
        try:
            yield
        finally:
            await plane.stop()

    # FastAPI's own pages load their scripts from other hosts; `pages` serves a list of routes that does not.
    app = FastAPI(
        title="Dovetail",
        version=dovetail.__version__,
        description="Fits work to machines: submit work, see where it goes, ask why.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.plane = plane
    app.state.closing = asyncio.Event()  # set it when the server begins to stop: streams then end (see `closing`)
    api = APIRouter(prefix=PREFIX, responses=PROBLEMS)
    work, rules, rest = (workloads, logs, questions), (policies, constraints, services), (profiles, reservations)
    machines = (nodes, backends, failures, topology, fragmentation, heartbeats)
    for room in (*work, *machines, queue, queues, *rules, *rest, events, system):
        api.include_router(room.router)
    for name, router in plane.subsystems.routers():
        api.include_router(router, prefix=f"/subsystems/{name}")
    app.include_router(api)
    app.include_router(system.root, responses=PROBLEMS)
    app.include_router(pages.router)
    app.add_middleware(Envelope)
    problems.install(app)
    describe(app)
    return app
