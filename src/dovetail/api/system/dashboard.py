"""The dashboard: its files, and the one HTML file with which each of its pages begins. They hold no data."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from dovetail.api.protocol.problems import HttpProblem
from dovetail.web.assets import PREFIX, Asset, load_assets
from dovetail.web.page_table import PAGES, page_at

router = APIRouter(include_in_schema=False)

_POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
        *("require-trusted-types-for 'script'", "trusted-types lit-html"),
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
_FOR_EVER = "public, max-age=31536000, immutable"


def is_page(path: str) -> bool:
    """Whether it is of the dashboard, and needs no token: there is nothing to learn from it."""
    return path.startswith(PREFIX) or page_at(path) is not None


@router.get(PREFIX + "{path:path}")
async def asset(request: Request, path: str) -> Response:
    found = load_assets().at(path)
    if found is None:
        raise HttpProblem(404, "no such file of the dashboard; load the page again")
    return _answer(request, found, _FOR_EVER)


async def shell(request: Request) -> Response:
    page = page_at(request.url.path)
    if page is None:
        raise HttpProblem(404, "no such page of the dashboard")
    return _answer(request, load_assets().shells[page.module], "no-cache")


for _page in PAGES:
    router.add_api_route(_page.path, shell)
    if _page.path != "/":
        router.add_api_route(_page.path + "/{rest:path}", shell)


def _answer(request: Request, found: Asset, caching: str) -> Response:
    headers = {**_HEADERS, "Cache-Control": caching}
    if found.compressed is not None and "gzip" in request.headers.get("Accept-Encoding", ""):
        return Response(found.compressed, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.media_type)
    return Response(found.content, headers=headers, media_type=found.media_type)
