"""What people open in a browser: `/`, the server at a glance; `/docs`, the list of its routes; `/openapi.json`.

Self-contained: they load nothing from anywhere else. Text from outside is escaped.
"""

from html import escape

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import description_of
from dovetail.api.protocol.replies import Json
from dovetail.api.system.system import summary_of
from dovetail.model.text.listing import count
from dovetail.responses.nodes import ResourceUse

router = APIRouter(include_in_schema=False)

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #888; --bar: #3b82f6 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 2rem; font-size: 1.1rem } p.lead { color: var(--soft); margin-top: 0 }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem .3rem 0;
border-bottom: 1px solid var(--line); vertical-align: top } td.number { text-align: right }
meter { width: 12rem } code, pre { font: 14px/1.5 ui-monospace, monospace }
pre { padding: .6rem .8rem; border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; user-select: all }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_COMMANDS = (
    ("Run something", "dovetail submit --name hello --cpu 1 -- echo hello"),
    ("See where it is", "dovetail get"),
    ("Ask why it is there", "dovetail explain hello"),
    ("Watch the cluster", "dovetail top"),
)
_TITLES = {"cpu": "CPU", "memory": "Memory", "disk": "Disk", "gpu": "GPU", "slots": "Task slots"}


def _page(title: str, body: str, *, refresh_s: int | None = None) -> Response:
    refresh = f'<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>{refresh}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>",
        headers=_HEADERS,
    )


@router.get("/")
async def front(request: Request) -> Response:
    plane = plane_of(request)
    found = await summary_of(plane)
    state = "ready" if plane.ready else f"not ready: {plane.trouble}"
    nodes = found["nodes"]
    commands = "".join(f"<p>{escape(what)}</p><pre>{escape(command)}</pre>" for what, command in _COMMANDS)
    body = (
        f'<h1>Dovetail</h1><p class="lead">Fits work to machines. Version {escape(found["version"])}, '
        f"{escape(state)}.</p>"
        f"<h2>Machines</h2><p>{count(nodes['total'], 'node')}, {nodes['online']:,} taking work.</p>"
        f"<table>{''.join(map(_resource, found['resources'].items()))}</table>"
        f"<h2>Work</h2><p>{count(found['waiting'], 'workload')} waiting, "
        f"{count(found['decisions_total'], 'decision')} since the start.</p>"
        f"<table>{''.join(map(_count, found['workloads'].items()))}</table>"
        f"<h2>Next</h2>{commands}"
        '<p><a href="/docs">All routes</a> · <a href="/openapi.json">OpenAPI</a> · '
        '<a href="/api/v1/summary">Summary as JSON</a> · <a href="/metrics">Metrics</a></p>'
    )
    return _page("Dovetail", body, refresh_s=5)


def _resource(entry: tuple[str, ResourceUse]) -> str:
    name, use = entry
    if not use["capacity"]:
        return ""
    title = escape(_TITLES.get(name, name))
    meter = f'<meter min="0" max="1" value="{min(use["share"], 1):.4f}"></meter>'
    return f'<tr><td>{title}</td><td>{meter}</td><td class="number">{use["share"]:.1%} allocated</td></tr>'


def _count(entry: tuple[str, int]) -> str:
    return f'<tr><td>{escape(entry[0])}</td><td class="number">{entry[1]:,}</td></tr>'


@router.get("/docs")
async def routes(request: Request) -> Response:
    described = await description_of(request.app)
    rows = "".join(
        f"<tr><td><code>{method.upper()}</code></td><td><code>{escape(path)}</code></td>"
        f"<td>{escape((operation.get('description') or operation.get('summary') or '').split(chr(10))[0])}</td></tr>"
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    )
    lead = '<p class="lead">Every route; <a href="/openapi.json">OpenAPI</a> has the details. <a href="/">Back</a></p>'
    return _page("Routes of Dovetail", f"<h1>Routes</h1>{lead}<table>{rows}</table>")


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    return Json(await description_of(request.app))
