"""The application: all routes, errors as problem documents and the OpenAPI description, around one control plane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from starlette.routing import BaseRoute

import dovetail
from dovetail.api import (
    backends,
    cloud,
    cost,
    discovery,
    distance_matrix,
    login,
    measured_network,
    metal,
    names,
    network,
    overview,
    queues,
    rebalancing,
    recordings,
    services,
    task_output,
    tokens,
    topology_map,
    traffic,
    usage,
    vms,
    workload_changes,
    workloads,
)
from dovetail.api.copies import routes as copies
from dovetail.api.nodes import agents, nodes, probes, sessions
from dovetail.api.nodes.fast_reports import FastReports
from dovetail.api.policies import policies, service_affinity
from dovetail.api.protocol import problems
from dovetail.api.protocol.body import BodiesInFlight
from dovetail.api.protocol.encoded_slashes import EncodedSlashes
from dovetail.api.protocol.guard import Guard
from dovetail.api.protocol.known_hosts import KnownHosts
from dovetail.api.protocol.openapi import OPEN_OPERATIONS, PREFIX, describe
from dovetail.api.protocol.shared_answers import SharedAnswers
from dovetail.api.protocol.streams import StreamLimit
from dovetail.api.questions import questions, recent
from dovetail.api.system import dashboard, notes, pages, system
from dovetail.control.plane import ControlPlane

#: In the order in which a request is compared with their routes, so those that pages ask often come first, and in which
#: the description lists them.
MODULES = (
    workloads,
    workload_changes,
    overview,
    topology_map,
    recent,
    system,
    services,
    discovery,
    task_output,
    usage,
    vms,
    names,
    questions,
    nodes,
    agents,
    probes,
    sessions,
    tokens,
    login,
    backends,
    cloud,
    metal,
    network,
    distance_matrix,
    measured_network,
    traffic,
    rebalancing,
    queues,
    policies,
    service_affinity,
    cost,
    recordings,
    notes,
    copies,
)


def own_routes() -> list[BaseRoute]:
    """The routes that every server has. They are listed one by one: of routers that are included in others, FastAPI
    asks each for its version and its match at every request, and what matches once more, which takes longer than most
    answers."""
    routers = [*[module.router for module in MODULES], system.root, pages.router]
    return [route for router in routers for route in router.routes]


def create_app(plane: ControlPlane, *, manage_plane: bool = True) -> FastAPI:
    """`manage_plane`: the plane starts and stops with the app; otherwise the caller starts and stops it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if manage_plane:
            await plane.start()
        try:
            yield
        finally:
            if manage_plane:
                await plane.stop()

    # FastAPI's own pages load scripts from other hosts, and it builds the description while the loop waits: `pages`
    # serves both in another way.
    app = FastAPI(
        title="Dovetail",
        version=dovetail.__version__,
        description="Fits work to machines: submit work, see where it goes, ask why.",
        lifespan=lifespan,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.plane = plane
    app.state.streams = StreamLimit(plane.settings.limits.max_streams)
    app.state.closing = asyncio.Event()  # set it when the server begins to stop: streams then end (`protocol.streams`)
    app.state.bodies = BodiesInFlight(plane.settings.limits.max_bodies)
    app.router.routes.extend(own_routes())
    for name, router in plane.subsystems.routers():
        app.include_router(router, prefix=f"{PREFIX}/subsystems/{name}")
    if plane.settings.web.enabled:
        app.include_router(dashboard.router)
    app.add_middleware(EncodedSlashes)
    app.add_middleware(SharedAnswers)
    app.add_middleware(FastReports, plane=plane, routes=app)
    guard = Guard(plane.access, login.cookie_name(plane), partial(_is_open, plane.settings.web.enabled))
    hosts, observe = KnownHosts(plane.settings.listen), plane.http_metrics.observe
    app.add_middleware(problems.Envelope, hosts=hosts, caller=guard.caller, observe=observe)
    problems.install(app)
    describe(app, PREFIX)
    return app


def _is_open(has_dashboard: bool, method: str, path: str) -> bool:
    """Whether anybody may ask for it: a page without data, or to be let in."""
    if (method, path) in OPEN_OPERATIONS:
        return True
    return has_dashboard and method in ("GET", "HEAD") and dashboard.is_page(path)
