"""Compares what a live server takes and answers with what its OpenAPI description says.

`Walk` gives an exercise a client, and looks at everything that is sent and answered through it. The body of a request
must be one that the description names; an answer must have a described status and media type, and its JSON must match
the schema with no field more: a field that nobody described fails here, although a client would tolerate it.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import yaml
from jsonschema import Draft202012Validator
from starlette.routing import compile_path
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN

from dovetail.client import Client
from dovetail.client.transport.exchange import HttpRequest, ServerAnswer
from dovetail.client.transport.transport import Transport

PROBLEM = "application/problem+json"
EVENTS = "text/event-stream"
_TIMEOUT_S = 60


class Answer(NamedTuple):
    """One kind of answer of one operation, such as `POST /api/v1/nodes`, 201, `application/json`."""

    operation: str
    status: str
    media_type: str


class Description:
    """The OpenAPI document of a server, with every object closed to fields that it does not describe."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.components = {"components": closed(document["components"])}
        self.operations: dict[str, dict[str, Any]] = {
            f"{method.upper()} {path}": operation
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }
        self._patterns = [(name, compile_path(name.partition(" ")[2])[0]) for name in self.operations]

    def operation_of(self, request: httpx.Request) -> str:
        found = [
            name
            for name, pattern in self._patterns
            if name.startswith(f"{request.method} ") and pattern.match(request.url.path)
        ]
        fewest = min((name.count("{") for name in found), default=0)  # OpenAPI: the path with fewer templates is meant
        found = [name for name in found if name.count("{") == fewest]
        assert len(found) == 1, f"{request.method} {request.url.path} is described by {found}"
        return found[0]

    def successes(self, operation: str) -> set[Answer]:
        """Every kind of answer that the operation may give when it does what was asked."""
        return {
            Answer(operation, status, _plain(media_type))
            for status, answer in self.operations[operation]["responses"].items()
            if status != "default"
            for media_type in answer.get("content", {"": None})
        }

    def check(self, schema: dict[str, Any], body: Any, what: str) -> None:
        errors = Draft202012Validator(schema | self.components).iter_errors(body)
        found = [f"{error.json_path}: {error.message}" for error in errors]
        assert not found, f"{what} is not as described: {found[:5]}\n{body}"


class _WatchedTransport(Transport):
    """The client's own, which shows every exchange to the walk as httpx would."""

    def __init__(self, url: str, look: Callable[[httpx.Response], None]) -> None:
        super().__init__(url, None, _TIMEOUT_S)
        self._look = look

    @contextmanager
    def _sent(self, request: HttpRequest) -> Iterator[ServerAnswer]:
        with super()._sent(request) as answer:
            whole = b"" if request.streams and answer.is_success else answer.content
            url = f"{self.url}{request.target}"
            sent = httpx.Request(request.method, url, headers=dict(request.headers), content=request.body)
            self._look(httpx.Response(answer.status, headers=answer.headers, content=whole, request=sent))
            yield answer


class NotingClient(Client):
    """Notes its methods as they return. One that gives one thing after the other counts when the first has come."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.returned: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or not callable(found):
            return found

        def noted(*args: Any, **how: Any) -> Any:
            answer = found(*args, **how)
            if isinstance(answer, Iterator):
                return self._noting_first(name, answer)
            self.returned.add(name)
            return answer

        return noted

    def _noting_first(self, name: str, answers: Iterator[Any]) -> Iterator[Any]:
        for answer in answers:
            self.returned.add(name)
            yield answer


def mentioned_methods(exercise: "Exercise") -> set[str]:
    """The methods of the client that an exercise calls, by its source."""
    return set(re.findall(r"\bclient\.(\w+)", inspect.getsource(exercise)))


class Walk:
    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx.Client(
            auth=OWN_TOKEN, base_url=f"{url}/api/v1", timeout=_TIMEOUT_S, trust_env=False, verify=False
        )
        self.description = Description(
            httpx.get(f"{url}/openapi.json", auth=OWN_TOKEN, trust_env=False, verify=False, timeout=60).json()
        )
        self.client = NotingClient(url)
        self.seen: set[Answer] = set()
        self.http.event_hooks["response"].append(self._look)
        self.client._http = _WatchedTransport(url, self._look)

    def close(self) -> None:
        self.http.close()
        self.client.close()

    def running(self, name: str, **spec: Any) -> None:
        self.client.submit({"name": name, "resources": {"cpu": "100m"}, **spec})
        wait_for(lambda: self.client.workload(name)["state"] == "running")

    @contextmanager
    def submitted(self, name: str, **spec: Any) -> Iterator[None]:
        """A workload that may have to wait, until the end of the block."""
        self.client.submit({"name": name, **spec})
        yield
        self.client.cancel(name)

    def check_event(self, operation: str, data: str) -> None:
        """The data of one server-sent event."""
        schema = self.description.operations[operation]["responses"]["200"]["content"][EVENTS]["schema"]
        self.description.check(schema["contentSchema"], json.loads(data), f"an event of {operation}")

    def _look(self, answer: httpx.Response) -> None:
        operation = self.description.operation_of(answer.request)
        described = self.description.operations[operation]
        self._look_at_request(answer.request, operation, described)
        media_type = _plain(answer.headers.get("Content-Type", ""))
        if not answer.is_success:
            content = described["responses"]["default"]["content"]
            self.description.check(content[PROBLEM]["schema"], json.loads(answer.read()), f"a problem of {operation}")
            assert media_type == PROBLEM
            return
        found = Answer(operation, str(answer.status_code), media_type)
        assert found in self.description.successes(operation), f"{found} is not described"
        self.seen.add(found)
        if media_type == "application/json":
            schema = described["responses"][found.status]["content"][media_type]["schema"]
            self.description.check(schema, json.loads(answer.read()), f"the answer of {operation}")

    def _look_at_request(self, request: httpx.Request, operation: str, described: dict[str, Any]) -> None:
        if not request.content:
            return
        media_type = request.headers["Content-Type"]
        assert media_type in described["requestBody"]["content"], f"{operation} is not described to take {media_type}"
        body = request.content.decode()
        if not media_type.startswith("text/"):
            schema = described["requestBody"]["content"][media_type]["schema"]
            self.description.check(schema, yaml.safe_load(body), f"the request of {operation}")


Exercise = Callable[[Walk], None]
EXERCISES: dict[str, tuple[Exercise, tuple[str, ...]]] = {}


def exercises(*operations: str) -> Callable[[Exercise], Exercise]:
    """The function provokes every kind of success that these operations are described to answer. It stands on its own:
    each one runs by itself, in any order, on a server that others have used."""

    def registered(exercise: Exercise) -> Exercise:
        full = tuple(" /".join((name.split(" /")[0], _full(name.split(" /")[1]))) for name in operations)
        EXERCISES[exercise.__name__] = (exercise, full)
        return exercise

    return registered


def _full(path: str) -> str:
    return path if path in ("health", "ready", "metrics") else f"api/v1/{path}"


def _plain(media_type: str) -> str:
    return media_type.partition(";")[0]


def closed(schema: Any) -> Any:
    """The schema with `additionalProperties: false` wherever an object lists its properties and does not say itself."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(one) for name, one in schema.items()}
    if found.get("type") == "object" and isinstance(found.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    return found
