"""The recipe "Add a route with its command" of CONTRIBUTING, followed step by step outside of the source tree."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest
from click.testing import CliRunner
from fastapi import Request
from tests.unit.api.route_walk.walk import Walk
from tests.unit.api.server import serving, settings_in
from typing_extensions import TypedDict

from dovetail.api import app as application
from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.cli.command_table import COMMANDS, CommandEntry
from dovetail.cli.main import app as dovetail
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.server import Url, connect
from dovetail.client.transport.transport import API, Transport

# 1. The response model: responses/nodes.py


class NodeCount(TypedDict):
    """How many nodes there are."""

    nodes: int


# 2. The route: api/nodes/nodes.py

router = Routes(prefix="/node-count", tags=["nodes"])


@router.get("")
async def node_count(request: Request) -> Json[NodeCount]:
    """How many nodes there are."""
    return Json({"nodes": len(plane_of(request).questions.nodes.names)})


# 3. The method of the client: client/calls/nodes.py


class CountCalls:
    _http: Transport

    def node_count(self) -> NodeCount:
        return cast("NodeCount", self._http.json("GET", f"{API}/node-count"))


# 4. The command: cli/nodes/nodes.py


def count(output: Output = Format.TABLE, url: Url = None) -> None:
    """How many nodes there are."""
    with connect(url) as client:
        found = CountCalls.node_count(client)  # type: ignore[arg-type]
    show(found, output, lambda _: f"{found['nodes']} nodes")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(application, "MODULES", (*application.MODULES, SimpleNamespace(router=router)))
    module = ModuleType("dovetail.cli.nodes.counting")
    module.count = count  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # 5. The line in the table of commands: cli/command_table.py
    monkeypatch.setitem(
        COMMANDS, "count", CommandEntry("Machines", "nodes.counting:count", "How many nodes there are.")
    )
    with serving(settings_in(tmp_path)) as found:
        yield found


def test_the_route_is_described_and_answers_as_described(url: str) -> None:
    walk = Walk(url)
    assert CountCalls.node_count(walk.client) == {"nodes": 4}  # type: ignore[arg-type]
    assert walk.seen == walk.description.successes("GET /api/v1/node-count")
    walk.close()


def test_the_command_prints_a_sentence_or_the_model(url: str) -> None:
    assert "4 nodes" in CliRunner().invoke(dovetail, ["count", "--url", url]).stdout
    assert '{\n  "nodes": 4\n}' in CliRunner().invoke(dovetail, ["count", "-o", "json", "--url", url]).stdout


def test_a_route_that_does_not_say_what_it_answers_cannot_be_declared() -> None:
    from starlette.responses import Response

    async def vague(request: Request) -> Response:
        raise NotImplementedError

    with pytest.raises(TypeError, match=r"vague: .* does not say what the route answers"):
        router.get("/vague")(vague)


def test_two_models_of_one_name_cannot_be_described() -> None:
    class Other(TypedDict):
        count: int

    Other.__name__ = "NodeCount"

    async def ambiguous(request: Request) -> Json[Other]:
        raise NotImplementedError

    with pytest.raises(TypeError, match="two models are named NodeCount"):
        router.get("/ambiguous")(ambiguous)
