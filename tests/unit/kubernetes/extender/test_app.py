"""The webhooks over HTTP: whatever is sent, the answer is one that can be read, and never a traceback."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.unit.kubernetes.extender.stage import Stage, waiting

from dovetail.kubernetes.extender.app import create_app

VERBS = ("filter", "prioritize", "preempt", "bind")


@pytest.fixture
def stage() -> Stage:
    found = Stage(max_body_bytes=4096, watch_patience_s=0)
    found.node("n1")
    return found


class Client:
    """Asks the application itself."""

    def __init__(self, stage: Stage) -> None:
        self._app = create_app(stage.extender)

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://extender") as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    def get(self, path: str) -> httpx.Response:
        return self.send("GET", path)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.send("POST", path, **more)


@pytest.fixture
def client(stage: Stage) -> Client:
    return Client(stage)


def test_filter_and_prioritize_answer(client: Client) -> None:
    args = {"Pod": waiting("a"), "Nodes": None, "NodeNames": ["n1", "n2"]}
    found = client.post("/filter", json=args).json()
    assert found["NodeNames"] == ["n1"]
    assert list(found["FailedAndUnresolvableNodes"]) == ["n2"]
    assert found["Error"] == ""
    assert client.post("/prioritize", json=args).json() == [{"Host": "n1", "Score": 10}, {"Host": "n2", "Score": 0}]


def test_preempt_answers(client: Client) -> None:
    args = {"Pod": waiting("a"), "NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}}
    found = client.post("/preempt", json=args).json()
    assert found == {"NodeNameToMetaVictims": args["NodeNameToMetaVictims"]}


def test_nothing_is_answered_before_the_cluster_is_known(stage: Stage, client: Client) -> None:
    assert client.get("/healthz").status_code == 200
    stage.extender.informer.synced.clear()
    assert client.get("/healthz").status_code == 503
    assert client.post("/filter", json={"Pod": waiting("a"), "NodeNames": ["n1"]}).status_code == 503


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"Pod": 5}', b"\xff\xfe", b'{"Pod":{"metadata":[]}}'])
def test_nonsense_is_refused_in_one_line(client: Client, verb: str, body: bytes) -> None:
    found = client.post(f"/{verb}", content=body)
    assert found.status_code == 400
    assert found.text
    assert "\n" not in found.text
    assert "Traceback" not in found.text


@pytest.mark.parametrize("verb", VERBS)
def test_a_body_that_is_too_long_is_not_read(client: Client, verb: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 1000

    assert client.post(f"/{verb}", content=b" " * 5000).status_code == 413
    assert client.post(f"/{verb}", content=pieces()).status_code == 413


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{}]},
        {"containers": [{"resources": 5}]},
        {"containers": [5]},
        {"containers": [], "affinity": []},
        {"containers": [], "tolerations": [{"effect": "Never"}]},
        {"containers": [], "topologySpreadConstraints": [{}]},
        {"containers": [], "volumes": [{"persistentVolumeClaim": 7}]},
        {"containers": [], "priority": "high"},
    ],
    ids=str,
)
@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt"])
def test_a_pod_that_makes_no_sense_is_an_answer_or_a_refusal(client: Client, verb: str, spec: Any) -> None:
    pod = {"metadata": {"namespace": "default", "name": "a", "uid": "u"}, "spec": spec}
    found = client.post(f"/{verb}", json={"Pod": pod, "NodeNames": ["n1"], "NodeNameToMetaVictims": {"n1": None}})
    assert found.status_code in (200, 422)
    assert "Traceback" not in found.text


def test_other_doors_are_shut(client: Client) -> None:
    assert client.get("/filter").status_code == 405
    assert client.post("/other", json={}).status_code == 404
