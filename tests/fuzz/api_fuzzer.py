"""Random requests to a real server, made by Schemathesis from the server's own OpenAPI description.

Two kinds, one after the other: *valid* requests, most of them along the links between routes, and *hostile* ones, which
break the schema of the route. Every answer is checked: no 5xx, a described status and media type, a body that fits its
schema, hostile data refused, a missing token refused, and an answer within `HANG_S`.

Between requests the fuzzer removes what has piled up, so that the memory of the server should not grow.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psutil
import schemathesis
from schemathesis import Case
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.engine import events, from_schema
from schemathesis.hooks import HookContext
from tests.e2e.server_process import ServerProcess
from tests.fuzz.manifests import CHATTY
from tests.fuzz.requests import KnownThings, better_bodies, register_formats, without_filters, without_waiting
from tests.patience import wait_for
from tests.soak.memory import Sample, growth_mb_per_hour

from dovetail.backends.registered.calls import ANSWER_WITHIN_S
from dovetail.client.transport.credentials import credentials_for

HANG_S = ANSWER_WITHIN_S + 5  # an agent is waited for, and those of registered nodes do not exist here
SCENARIOS = 40
FURNITURE = {"chatty": CHATTY, "failed": ["false"], "done": ["echo", "hello"]}
SERVER = {
    "backends": {"sim": {"kind": "simulated", "groups": [{"prefix": "sim", "count": 2, "capacity": {"cpu": 8}}]}},
    "retention": {"finished": "20s", "history": "1m"},
    "logging": {"level": "warning", "decisions": False},
}
#: Not asked for: a request that keeps its schema may still break a rule between fields, or name what is not there.
_NOT_CHECKED = ("positive_data_acceptance",)
#: Sends each request again without a token: once for each route is enough.
_ONCE = ("ignored_auth",)
#: DELETE cancels work, which can still be looked at, and the versions of a policy outlive it.
_OUTLIVES = "^/api/v1/(workloads/.ref.|policies/.name./versions)"
#: What can be listed and removed: the field that names it, and what else a request to remove it says.
SWEPT: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("services", "name", {}),
    ("policies", "name", {}),
    ("reservations", "id", {}),
    ("tokens/join", "id", {}),
    ("login/sessions", "id", {}),
    ("budgets", "namespace", {}),
    ("backends", "name", {"force": "true"}),
)
#: The output of a task may be with an agent that does not answer.
_ELSEWHERE, EXPECTED = "^/api/v1/workloads/.ref./logs$", ["2xx", "4xx", "503"]
MB = 1_000_000


@dataclass
class FuzzReport:
    """What was sent and answered. `failures`: by what failed, how often and one example of it."""

    statuses: Counter[int] = field(default_factory=Counter)
    valid: Counter[bool] = field(default_factory=Counter)
    by_route: dict[str, Counter[int]] = field(default_factory=dict)
    slowest_s: float = 0.0
    slowest: str = ""
    failures: dict[str, tuple[int, str]] = field(default_factory=dict)
    memory: list[Sample] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return self.statuses.total()

    @property
    def accepted(self) -> float:
        """The share of valid requests that were done."""
        return self.valid[True] / max(1, self.valid.total())

    def fail(self, what: str, example: str) -> None:
        times, first = self.failures.get(what, (0, example))
        self.failures[what] = (times + 1, first)

    def add(self, other: "FuzzReport") -> None:
        """What another client found."""
        self.statuses += other.statuses
        self.valid += other.valid
        for route, statuses in other.by_route.items():
            self.by_route.setdefault(route, Counter()).update(statuses)
        for what, (times, example) in other.failures.items():
            self.failures[what] = (self.failures.get(what, (0, ""))[0] + times, example)
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest
        self.memory = max(self.memory, other.memory, key=growth_mb_per_hour)

    def to_dict(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "accepted_share_of_valid": round(self.accepted, 3),
            "statuses": dict(sorted(self.statuses.items())),
            "routes": len(self.by_route),
            "slowest_s": round(self.slowest_s, 3),
            "slowest": self.slowest,
            "memory_mb": [round(sample.mb, 1) for sample in self.memory[:: max(1, len(self.memory) // 10)]],
        }


class ApiFuzzer:
    """Sends requests to one server, in several runs."""

    def __init__(self, server: ServerProcess, seed: int, examples: int = 3) -> None:
        """`examples`: of each route in a run."""
        self.report = FuzzReport()
        self._examples = examples
        self._server, self._seed = server, seed
        self._document = server.http.get("/openapi.json").json()
        self.routes = {
            f"{method.upper()} {path}" for path, methods in self._document["paths"].items() for method in methods
        }
        self._process = psutil.Process(server.pid)
        self._known = KnownThings()
        register_formats()
        self.sweep()

    def valid(self, seconds: float, runs: int = 10) -> None:
        """Requests that keep their schemas, until the time is over: so many runs of scenarios along the links, then
        each route by itself. A run ends when the server answers otherwise than the first time to the same beginning."""
        ends_at = time.monotonic() + seconds
        while True:
            for _ in range(runs):
                self._run(self._scenarios)
            self._run(self._routes)
            self.sweep()
            if time.monotonic() > ends_at:
                return

    def hostile(self, seconds: float) -> None:
        """Requests that break their schemas."""
        ends_at = time.monotonic() + seconds
        while True:
            self._run(self._broken)
            self.sweep()
            if time.monotonic() > ends_at:
                return

    @cached_property
    def _scenarios(self) -> Any:
        return self._valid_schema("stateful", SCENARIOS)

    @cached_property
    def _routes(self) -> Any:
        return self._valid_schema("fuzzing", self._examples)

    @cached_property
    def _broken(self) -> Any:
        schema = self._schema("negative", "fuzzing", self._examples)
        schema.hook("map_query")(without_waiting)
        return schema

    def _valid_schema(self, phase: str, examples: int) -> Any:
        schema = self._schema("positive", phase, examples)
        schema.hook("map_query")(without_filters)
        schema.hook("before_generate_body")(better_bodies)

        def choose(context: HookContext, path_parameters: dict[str, Any]) -> dict[str, Any]:
            return self._known.choose(context, path_parameters)

        schema.hook("map_path_parameters")(choose)
        return schema

    def _schema(self, mode: str, phase: str, examples: int) -> Any:
        how = {"mode": mode, "max-examples": examples, "no-shrink": True}
        settings = {
            "request-timeout": 2 * HANG_S,
            "continue-on-failure": True,
            "suppress-health-check": ["too_slow"],  # of generating, on a busy machine
            "cache": {"enabled": False},  # the seed alone decides what is sent
            "checks": {name: {"enabled": False} for name in _NOT_CHECKED + (_ONCE if phase == "stateful" else ())},
            "operations": [
                {"include-path-regex": _OUTLIVES, "checks": {"use_after_free": {"enabled": False}}},
                {"include-path-regex": _ELSEWHERE, "checks": {"not_a_server_error": {"expected-statuses": EXPECTED}}},
            ],
            "generation": how | {"with-security-parameters": False, "database": "none"},
            "phases": {name: {"enabled": name == phase} for name in ("examples", "coverage", "fuzzing", "stateful")},
        }
        schema = schemathesis.openapi.from_dict(self._document, config=SchemathesisConfig.from_dict(settings))
        schema.config.update(base_url=self._server.url)
        schema.auth(refresh_interval=None)(self._token())

        def note(context: HookContext, case: Case[Any], response: Response) -> None:
            self._known.learn(case, response)
            self._note(case.operation.label, response, is_valid=mode == "positive")

        schema.hook("after_call")(note)
        return schema

    def _token(self) -> type:
        url = self._server.url

        class Token:
            """Read each time: a request may rotate it."""

            def get(self, case: Case[Any], context: Any) -> str | None:
                return credentials_for(url).token

            def set(self, case: Case[Any], data: str, context: Any) -> None:
                case.headers["Authorization"] = f"Bearer {data}"

        return Token

    def _run(self, schema: Any) -> None:
        """With another seed each time."""
        schema.config.seed = self._seed
        self._seed += 1
        for event in from_schema(schema).execute():
            if isinstance(event, events.ScenarioFinished):
                self._judge(event)
            elif isinstance(event, events.NonFatalError):
                self.report.fail(f"{event.label}: {event.info.title}", str(event.value))
            elif isinstance(event, events.FatalError):
                self.report.fail("Schemathesis", repr(event.exception))

    def _note(self, route: str, response: Response, *, is_valid: bool) -> None:
        report = self.report
        report.statuses[response.status_code] += 1
        report.by_route.setdefault(route, Counter())[response.status_code] += 1
        if is_valid:
            report.valid[response.status_code < 300] += 1
        if response.elapsed > report.slowest_s:
            report.slowest_s, report.slowest = response.elapsed, route
        if response.elapsed > HANG_S:
            report.fail(f"{route}: slow", f"{response.elapsed:.1f} s")

    def _judge(self, event: events.ScenarioFinished) -> None:
        for checks in event.recorder.checks.values():
            for check in checks:
                if check.failure_info is not None:
                    failure = check.failure_info.failure
                    example = f"{failure.message}\n{check.failure_info.code_sample}"
                    self.report.fail(f"{failure.operation}: {check.name}: {failure.title}", example)

    def sweep(self) -> None:
        """Remove what earlier requests left, make one thing of each kind, and see how much memory the server has."""
        http = self._server.http
        for noun, key, fixed in SWEPT:  # services first: they replace what is cancelled
            for one in http.get(f"/api/v1/{noun}").json()["items"]:
                params = fixed | ({"namespace": one["namespace"]} if noun == "services" else {})
                http.delete(f"/api/v1/{noun}/{one[key]}", params=params)
        http.post("/api/v1/workloads/cancel", json={"match": "*", "force": True})
        for noun in ("topology", "distances"):
            http.delete(f"/api/v1/{noun}")
        for node in http.get("/api/v1/nodes").json()["items"]:
            if node["backend"] == "registered":
                http.delete(f"/api/v1/nodes/{node['name']}")
        self._known.start_over(furnish(http))
        self.report.memory.append(Sample(time.monotonic(), self._process.memory_info().rss / MB))


def furnish(http: httpx.Client) -> dict[str, list[Any]]:
    """Give the server one thing of each kind, so that hardly a route has nothing to answer. What there is, by kind."""

    def send(method: str, path: str, body: Any) -> Any:
        answer = http.request(method, f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    send("PUT", "/backends/here", {"kind": "local", "node": "here"})
    work = [
        {"name": name, "run": {"command": command}, "backends": {"allow": ["here"]}}
        for name, command in FURNITURE.items()
    ]
    accepted = send("POST", "/workloads", work)["accepted"]
    wait_for(lambda: http.get(f"/api/v1/workloads/{accepted[0]['id']}").json()["state"] == "running")
    wait_for(lambda: http.get(f"/api/v1/workloads/{accepted[1]['id']}").json()["state"] == "failed")
    # Last, as they are silent, and a busy machine may have needed half a minute so far.
    for name in ("n1", "n2"):
        send("POST", "/nodes", {"name": name, "capacity": {"cpu": 8, "gpu": 2}, "labels": {"zone": "east"}})
    send("PUT", "/policies/own-0", {"prefer": "node.free.cpu >= 1"})
    send("PUT", "/services/own-0/affinity", {"nodes": ["n1"]})
    held = {"node": "n2", "resources": {"cpu": 1}, "duration": "1h"}
    shell = {"command": CHATTY, "interactive": True}
    return {
        "workloads": [one["id"] for one in accepted],
        "nodes": ["here", "n1", "n2", "sim-1"],
        "backends": ["here", "sim"],
        "policies": ["own-0"],
        "services": ["own-0"],
        "versions": [1],
        "reservations": [send("POST", "/reservations", held)["id"]],
        "tokens": [send("POST", "/tokens/join", {})["id"]],
        "exec": [send("POST", f"/workloads/{accepted[0]['id']}/exec", shell)["id"]],
    }


@contextmanager
def fuzzed_server(folder: Path) -> Iterator[ServerProcess]:
    with ServerProcess(folder, SERVER) as server:
        yield server
