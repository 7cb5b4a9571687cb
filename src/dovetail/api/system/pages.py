"""What people who write programs open in a browser: `/docs`, the list of routes; `/openapi.json`. The dashboard is in
`dashboard`.

Self-contained: they load nothing from anywhere else. Text from outside is escaped.
"""

from html import escape

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from dovetail.api.protocol.openapi import description_of
from dovetail.api.protocol.replies import Json

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


def _page(title: str, body: str) -> Response:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>",
        headers=_HEADERS,
    )


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
