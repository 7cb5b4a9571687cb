"""A real server for tests: the app on a free port, a real store in a folder, a simulated cluster."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvicorn
from tests.patience import wait_for
from tests.servers.fresh_databases import use_copies
from tests.servers.own_token import note

from dovetail.api.app import create_app
from dovetail.api.protocol.connections import bounded_http
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings

use_copies()

API = "/api/v1"
T = TypeVar("T")


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Four nodes; work runs until it is stopped, unless it says how long it takes."""
    found = {
        "data": str(folder),
        "logging": {"level": "error", "decisions": False},
        "backends": {
            "sim": {
                "kind": "simulated",
                "forever": True,
                "groups": [
                    {
                        "prefix": "node",
                        "count": 4,
                        "capacity": {"cpu": 8, "memory": "32GB", "disk": "500GB", "gpu": 2},
                        "labels": {"zone": "east"},
                    }
                ],
            }
        },
    }
    return Settings.model_validate(found | changes)


class StoppingServer(uvicorn.Server):
    """Ends streams first, so that stopping waits for nobody."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.closing.set()  # type: ignore[union-attr]
        await super().shutdown(sockets)


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """The address of a server that runs until the end of the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = create_app(ControlPlane(settings))
    config = uvicorn.Config(app, log_level="error", http=bounded_http(settings.limits))
    server = StoppingServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        # The socket listens already, so the first request waits until the control plane has started.
        httpx.get(f"{url}/ready", timeout=60, trust_env=False, verify=False).raise_for_status()
        note(url, settings.token_file)
        yield url
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def submitted(http: httpx.Client, *work: dict[str, Any]) -> list[dict[str, Any]]:
    answer = http.post("/workloads", json=list(work))
    assert answer.status_code == 201, answer.text
    accepted: list[dict[str, Any]] = answer.json()["accepted"]
    return accepted


def in_state(http: httpx.Client, name: str, *states: str) -> dict[str, Any]:
    """The workload when it has come to one of the states."""

    def asked() -> dict[str, Any] | None:
        row: dict[str, Any] = http.get(f"/workloads/{name}").json()
        return row if row["state"] in states else None

    return wait_for(asked)


def problem_in(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document, after checking that it is one and says enough."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:dovetail:problem:")
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"] == answer.request.url.path
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    return problem
