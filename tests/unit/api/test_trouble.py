"""When the server itself is in trouble it says so, and keeps the details for the log."""

import asyncio
from pathlib import Path

import httpx
from tests.unit.api.server import API, problem_in, settings_in

from dovetail.api.app import create_app
from dovetail.control.plane import ControlPlane
from dovetail.store.contract import StoreError


def asked(folder: Path, method: str, path: str, **how: object) -> httpx.Response:
    """One answer of an app whose control plane was never started."""
    plane = ControlPlane(settings_in(folder))
    plane.access.admin.load()
    app = create_app(plane, manage_plane=False)

    async def breaks() -> None:
        raise ZeroDivisionError("the secret is 42")

    async def loses_its_store() -> None:
        raise StoreError("the disk behind /somewhere/secret is full")

    app.add_api_route("/breaks", breaks)
    app.add_api_route("/loses-its-store", loses_its_store)

    async def scene() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        headers = {"Authorization": f"Bearer {plane.access.admin.path.read_text().strip()}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            return await client.request(method, path, **how)  # type: ignore[arg-type]

    return asyncio.run(scene())


def test_before_it_is_started_it_is_alive_but_not_ready(tmp_path: Path) -> None:
    assert asked(tmp_path, "GET", "/health").status_code == 200
    answer = asked(tmp_path, "GET", "/ready")
    assert "starting" in problem_in(answer, 503)["detail"]
    assert answer.headers["retry-after"]


def test_before_it_is_started_nothing_is_accepted(tmp_path: Path) -> None:
    problem_in(asked(tmp_path, "POST", f"{API}/workloads", json={"name": "early"}), 503)
    problem_in(asked(tmp_path, "POST", f"{API}/nodes", json={"name": "early"}), 503)


def test_an_unexpected_error_tells_nothing_about_the_inside(tmp_path: Path) -> None:
    answer = asked(tmp_path, "GET", "/breaks")
    problem_in(answer, 500)
    assert "42" not in answer.json()["detail"]
    assert "ZeroDivisionError" not in answer.text


def test_a_store_in_trouble_is_a_passing_thing_and_its_path_stays_inside(tmp_path: Path) -> None:
    answer = asked(tmp_path, "GET", "/loses-its-store")
    problem_in(answer, 503)
    assert "somewhere" not in answer.text
