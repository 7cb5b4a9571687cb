"""Who accepts an answer of some age shares it with others; everybody else gets one of its own."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.unit.api.server import submitted

from dovetail.api.protocol.shared_answers import MOST_BYTES, MOST_KEPT, SharedAnswers

YOUNG = {"Cache-Control": "max-age=60"}


class _Callers:
    """As the envelope around all requests does, which knows the caller."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = dict(scope["headers"]).get(b"x-caller")
        await self._app({**scope, "state": {"caller": name}}, receive, send)


def asking(scene: Callable[[httpx.AsyncClient, list[str]], Awaitable[None]]) -> None:
    """Runs a scene with a client of a small application; the list names each answer that it makes."""
    made: list[str] = []

    async def count(request: Request) -> Response:
        made.append(str(request.url.path))
        await asyncio.sleep(0.02)
        return JSONResponse({"number": len(made)})

    async def large(_: Request) -> Response:
        made.append("large")
        return JSONResponse("x" * (MOST_BYTES + 1))

    async def text(_: Request) -> Response:
        made.append("text")
        return PlainTextResponse("words")

    async def fails(_: Request) -> Response:
        made.append("fails")
        return JSONResponse({"title": "no"}, 503)

    routes = {"/count": count, "/other": count, "/large": large, "/text": text, "/fails": fails}
    app = Starlette(routes=[Route(path, found, methods=["GET", "POST"]) for path, found in routes.items()])

    async def run() -> None:
        transport = httpx.ASGITransport(_Callers(SharedAnswers(app)))
        async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-Caller": "ada"}) as client:
            await asyncio.wait_for(scene(client, made), 20)

    asyncio.run(run())


def test_askers_at_the_same_time_and_soon_after_share_one_answer() -> None:
    async def scene(client: httpx.AsyncClient, made: list[str]) -> None:
        answers = await asyncio.gather(*(client.get("/count", headers=YOUNG) for _ in range(10)))
        answers.append(await client.get("/count", headers=YOUNG))
        assert {answer.json()["number"] for answer in answers} == {1}
        assert {answer.headers["Age"] for answer in answers} == {"0"}
        assert len(made) == 1

    asking(scene)


def test_who_does_not_ask_for_it_gets_an_answer_of_its_own() -> None:
    async def scene(client: httpx.AsyncClient, made: list[str]) -> None:
        await client.get("/count", headers=YOUNG)
        assert (await client.get("/count")).json()["number"] == 2
        assert (await client.get("/count", headers={"Cache-Control": "no-cache"})).json()["number"] == 3
        assert (await client.get("/count", headers={"Cache-Control": "max-age=0"})).json()["number"] == 4
        assert (await client.post("/count", headers=YOUNG)).json()["number"] == 5
        assert "Age" not in (await client.get("/count")).headers
        assert len(made) == 6

    asking(scene)


def test_other_addresses_queries_and_callers_share_nothing() -> None:
    async def scene(client: httpx.AsyncClient, made: list[str]) -> None:
        for path in ("/count", "/other", "/count?a=1", "/count?a=2"):
            await client.get(path, headers=YOUNG)
        await client.get("/count", headers={**YOUNG, "X-Caller": "bob"})
        assert len(made) == 5

    asking(scene)


def test_what_is_open_to_all_is_not_shared() -> None:
    async def scene(client: httpx.AsyncClient, made: list[str]) -> None:
        del client.headers["X-Caller"]
        for _ in range(2):
            await client.get("/count", headers=YOUNG)
        assert len(made) == 2

    asking(scene)


def test_an_answer_that_is_too_old_is_made_again() -> None:
    async def scene(client: httpx.AsyncClient, _: list[str]) -> None:
        clock, began = asyncio.get_running_loop().time, asyncio.get_running_loop().time()
        await client.get("/count", headers={"Cache-Control": "max-age=1"})
        await asyncio.sleep(1.1)
        old = await client.get("/count", headers={"Cache-Control": "max-age=60"})
        assert old.json()["number"] == 1
        assert 1 <= int(old.headers["Age"]) <= clock() - began
        assert (await client.get("/count", headers={"Cache-Control": "private, max-age=1"})).json()["number"] == 2

    asking(scene)


def test_failures_and_large_answers_are_not_kept() -> None:
    async def scene(client: httpx.AsyncClient, made: list[str]) -> None:
        for path in ("/fails", "/large"):
            for _ in range(2):
                await client.get(path, headers=YOUNG)
        assert made == ["fails", "fails", "large", "large"]

    asking(scene)


def test_what_is_not_json_goes_through_as_it_comes() -> None:
    async def scene(client: httpx.AsyncClient, _: list[str]) -> None:
        assert (await client.get("/text", headers=YOUNG)).text == "words"

    asking(scene)


def test_few_answers_are_kept() -> None:
    async def scene(client: httpx.AsyncClient, made: list[str]) -> None:
        for number in range(MOST_KEPT + 1):
            await client.get(f"/count?n={number}", headers=YOUNG)
        await client.get(f"/count?n={MOST_KEPT}", headers=YOUNG)
        assert len(made) == MOST_KEPT + 1
        await client.get("/count?n=0", headers=YOUNG)
        assert len(made) == MOST_KEPT + 2

    asking(scene)


def test_the_server_shares_what_dashboards_look_at(http: httpx.Client) -> None:
    before = http.get("/summary", headers=YOUNG).json()
    submitted(http, {"name": "newcomer", "resources": {"cpu": 1}})
    assert http.get("/summary", headers=YOUNG).json() == before
    assert http.get("/summary").json() != before
    streamed = {**YOUNG, "Accept": "text/event-stream"}
    with http.stream("GET", "/events", headers=streamed) as events:
        assert next(events.iter_lines()).startswith(": events")
    assert http.get("/workloads/nobody", headers=YOUNG).status_code == 404
