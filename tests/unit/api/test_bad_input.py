"""Whatever is sent, the answer is a clear problem with the right status, and nothing of it is written."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.unit.api.server import problem_in, submitted

GOOD = {"name": "good", "resources": {"cpu": 1}}


@pytest.fixture(autouse=True)
def nothing_is_written(http: httpx.Client) -> Iterator[None]:
    before = http.get("/workloads").json()
    yield
    assert http.get("/workloads").json() == before


@pytest.mark.parametrize(
    ("bad", "field", "words"),
    [
        ({"name": "a", "replica": 2}, "replica", "Did you mean 'replicas'"),
        ({"name": "a", "resources": {"cpu": "2GB"}}, "resources.cpu", "unknown unit"),
        ({"name": "a", "resources": {"memory": "5 parsecs"}}, "resources.memory", "unknown unit"),
        ({"name": "a", "resources": {"cpu": -1}}, "resources.cpu", "negative"),
        ({"name": "a", "resources": {"memory": "-1GiB"}}, "resources.memory", "negative"),
        ({"name": "a", "resources": {"cpu": "nan"}}, "resources.cpu", "not a quantity"),
        ({"name": "a", "resources": {"memory": 1e30}}, "resources.memory", "too large"),
        ({"name": "a", "resources": {"cpu": "1e300"}}, "resources.cpu", "too large"),
        ({"name": "a", "replicas": 0}, "replicas", "too small"),
        ({"name": "a", "replicas": 100_000}, "replicas", "100000"),
        ({"name": "a", "profile": "fastest"}, "profile", "unknown profile"),
        ({"name": "a", "scheduler": "nobody"}, "scheduler", "unknown scheduler"),
        ({"name": "größe"}, "name", "ASCII"),
        ({"name": "名前"}, "name", "ASCII"),
        ({"name": "a\u202eb"}, "name", "not a name"),
        ({"name": "../../etc/passwd"}, "name", "not a name"),
        ({"name": "a/b"}, "name", "not a name"),
        ({"name": "..%2f"}, "name", "not a name"),
        ({"name": ""}, "name", "not a name"),
        ({"name": "x" * 101}, "name", "at most 100"),
        ({"name": 5}, "name", "quotes"),
        ({}, "name", "required"),
        ({"name": "a", "limits": {"cpu": "500m"}, "resources": {"cpu": 1}}, "limits.cpu", "below"),
        ({"name": "a", "run": {"command": ["a\0b"]}}, "run", "NUL"),
    ],
)
def test_a_bad_workload_is_refused_with_its_field(http: httpx.Client, bad: Any, field: str, words: str) -> None:
    problem = problem_in(http.post("/workloads", json=bad), 422)
    assert any(error["field"] == field and words in error["message"] for error in problem["errors"]), problem
    problem_in(http.post("/workloads", json=bad, params={"dry_run": True}), 422)


def test_true_is_no_port(http: httpx.Client) -> None:
    problem = problem_in(http.post("/nodes/any/probes", json={"port": True}), 422)
    assert [(error["field"], error["message"]) for error in problem["errors"]] == [
        ("port", "true is not accepted; write a whole number")
    ]


def test_one_bad_workload_refuses_the_whole_batch_and_every_mistake_is_said(http: httpx.Client) -> None:
    problem = problem_in(http.post("/workloads", json=[GOOD, {"name": "a", "replicas": -1}, {"nmae": "b"}]), 422)
    fields = {error["field"] for error in problem["errors"]}
    assert {"[1].replicas", "[2].nmae", "[2].name"} <= fields


def test_fields_below_the_wrapper_are_named_with_it(http: httpx.Client) -> None:
    problem = problem_in(http.post("/workloads", json={"workloads": [GOOD, {"name": "a", "cpu": 1}]}), 422)
    assert [error["field"] for error in problem["errors"]] == ["workloads[1].cpu"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"   ",
        b"{",
        b'{"name": "a"',
        b'{"name": NaN}',
        b'{"name": "a", "name": "b"}',
        b'{"name": "a", "resources": {"cpu": 1, "cpu": 2}}',
        b"[" * 1000 + b"]" * 1000,
        b'{"name": "a", "resources": {"cpu": Infinity}}',
        b'{"name": "a", "resources": {"cpu": 1e999}}',
        b'{"name": "\xff"}',
        b'{"name": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 900 + b"]" * 900,
        b"null",
        b"[]",
        b"42",
        b'"text"',
        b"[[[]]]",
        b'{"workloads": []}',
        b'{"workloads": 3}',
        b"\xef\xbb\xbf{}",
        b"\x00" * 10,
    ],
)
def test_what_is_not_json_or_holds_no_workload_is_refused(http: httpx.Client, content: bytes) -> None:
    problem = problem_in(http.post("/workloads", content=content, headers={"Content-Type": "application/json"}), 422)
    assert problem["errors"]
    assert len(json.dumps(problem)) < 10_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: a\nresources:\n\tcpu: 1\n", "tab"),
        ("name: a\n  replicas: 3\n", ""),
        ("name: &a\n  deep: *a\n", ""),
        ("&a [*a]", ""),
        ("name: a\nname: b\n", ""),
        ("name: !!python/object/apply:os.system ['true']\n", ""),
        ("a: &a [x, x]\nb: &b [*a, *a]\n" + "".join(f"k{i}: &k{i} [*b, *b]\n" for i in range(5)), ""),
        ("name: a\n---\nname: b\nreplicas: many\n", ""),
        ("{" * 5000, ""),
        ("name: 'a", ""),
    ],
)
def test_malformed_yaml_is_refused_with_its_line(http: httpx.Client, text: str, words: str) -> None:
    headers = {"Content-Type": "application/yaml"}
    problem = problem_in(http.post("/workloads", content=text.encode(), headers=headers), 422)
    assert any(error["line"] for error in problem["errors"])
    assert words in problem["detail"]


def test_an_alias_bomb_is_refused_quickly(http: httpx.Client) -> None:
    text = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    problem_in(http.post("/workloads", content=text.encode(), headers={"Content-Type": "text/yaml"}), 422)


def test_a_large_body_is_refused_by_its_declared_length(http: httpx.Client) -> None:
    problem = problem_in(http.post("/workloads", json=[{"name": "x" * 10_000_000}]), 413)
    assert "1MiB" in problem["detail"]


def test_a_large_body_without_a_declared_length_is_refused_while_it_is_read(http: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"["
        for _ in range(160):
            yield b" " * 65536
        yield b"]"

    problem_in(http.post("/workloads", content=pieces(), headers={"Content-Type": "application/json"}), 413)


def test_too_many_workloads_at_once_are_refused(http: httpx.Client) -> None:
    problem = problem_in(http.post("/workloads", json=[{"name": f"w{i}"} for i in range(601)]), 422)
    assert "600" in problem["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        {"Content-Type": ""},
        {},
    ],
)
def test_a_body_of_another_type_is_refused(http: httpx.Client, headers: dict[str, str]) -> None:
    problem = problem_in(http.post("/workloads", content=b'{"name": "a"}', headers=headers), 415)
    assert problem["type"] == "urn:dovetail:problem:unsupported-media-type"


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "ü".encode()])
def test_an_odd_idempotency_key_is_refused(http: httpx.Client, key: str | bytes) -> None:
    headers: Any = {"Idempotency-Key": key}
    problem = problem_in(http.post("/workloads", json=GOOD, headers=headers), 422)
    assert problem["errors"][0]["field"] == "Idempotency-Key"


def test_a_name_that_stands_twice_in_a_submission_is_refused(http: httpx.Client) -> None:
    problem = problem_in(http.post("/workloads", json=[{"name": "a"}, {"name": "a"}]), 422)
    assert "is used twice" in problem["detail"]


class TestWithAWorkloadThatIsThere:
    @pytest.fixture(autouse=True)
    def nothing_is_written(self, http: httpx.Client) -> Iterator[None]:
        if http.get("/workloads/taken").status_code == 404:
            submitted(http, {"name": "taken"})
        before = [row["id"] for row in http.get("/workloads").json()["items"]]
        yield
        assert [row["id"] for row in http.get("/workloads").json()["items"]] == before

    @pytest.mark.parametrize("params", [{}, {"dry_run": True}])
    def test_a_duplicate_name_refuses_the_whole_batch(self, http: httpx.Client, params: dict[str, bool]) -> None:
        problem = problem_in(http.post("/workloads", json=[GOOD, {"name": "taken"}], params=params), 409)
        assert "default/taken" in problem["detail"]

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/workloads/../../etc/passwd", 404),
            ("GET", "/workloads/..%2f..%2fetc%2fpasswd", 404),
            ("GET", "/workloads/%2e%2e", 404),
            ("GET", "/workloads/a%00b", 404),
            ("GET", "/workloads/%ff%fe", 404),
            ("GET", "/workloads/" + "9" * 5000, 404),
            ("GET", "/workloads/" + "x" * 5000, 404),
            ("GET", "/workloads/-1", 404),
            ("GET", "/workloads/taken?namespace=other", 404),
            ("GET", "/workloads/taken/tasks?limit=0", 422),
            ("GET", "/workloads/taken/tasks?offset=" + "9" * 100, 422),
            ("GET", "/workloads/taken/logs?replica=7", 404),
            ("GET", "/workloads/taken/logs?replica=-1", 422),
            ("GET", "/workloads/taken/logs?limit=99999999", 422),
            ("GET", "/workloads/taken/why-not/nowhere", 404),
            ("GET", "/workloads?limit=100000", 422),
            ("GET", "/workloads?cursor=abc", 422),
            ("GET", "/workloads?cursor=" + "9" * 50, 422),
            ("GET", "/workloads?namspace=default", 422),
            ("GET", "/workloads?state=odd", 422),
            ("GET", "/events?after=-1", 422),
            ("GET", "/events?workload=nobody", 404),
            ("DELETE", "/workloads/nobody", 404),
            ("DELETE", "/nodes/nowhere", 404),
            ("POST", "/nodes/nowhere/cordon", 404),
            ("POST", "/nodes/nowhere/drain", 404),
            ("POST", "/nodes/nowhere/heartbeat", 404),
            ("POST", "/nodes/node-1/heartbeat", 404),
            ("GET", "/nodes/nowhere", 404),
            ("GET", "/nodes/nowhere/diagnostics", 404),
            ("GET", "/nodes/nowhere/tasks", 404),
            ("DELETE", "/reservations/99", 404),
            ("DELETE", "/reservations/x", 422),
            ("GET", "/nothing", 404),
            ("PUT", "/workloads", 405),
            ("DELETE", "/queue", 405),
        ],
    )
    def test_addresses_that_lead_nowhere_say_so(self, http: httpx.Client, method: str, path: str, status: int) -> None:
        answer = http.request(method, path)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert len(answer.content) < 3000


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/nodes", {"name": "n", "capacity": {"cpu": -1}}, "capacity.cpu"),
        ("/nodes", {"name": "n", "capacity": {"flux": 1}}, "capacity.flux"),
        ("/nodes", {"name": "a/b"}, "name"),
        ("/nodes", {"name": "n", "taints": [{"key": "k", "effect": "Sometimes"}]}, "taints[0].effect"),
        ("/nodes", [{"name": "n"}], ""),
        ("/nodes/node-1/cordon", {"because": "x"}, "because"),
        ("/nodes/node-1/cordon", {"reason": "x" * 501}, "reason"),
        ("/nodes/node-1/heartbeat", {"tasks": [{"key": "../x", "state": "running"}]}, "tasks[0].key"),
        ("/nodes/node-1/heartbeat", {"tasks": [{"key": "1.0.1", "state": "odd"}]}, "tasks[0].state"),
        ("/nodes/node-1/heartbeat", {"used": {"memory": "-3GiB"}}, "used.memory"),
        ("/nodes/node-1/heartbeat", {"moves": [{"key": "1.0.1", "source": "a", "target": "b"}]}, "moves[0].number"),
        ("/reservations", {"node": "node-1", "resources": {"cpu": 1}, "duration": "0s"}, "duration"),
        ("/reservations", {"node": "node-1", "resources": {"cpu": 1}, "duration": "2 fortnights"}, "duration"),
        ("/reservations", {"node": "node-1", "resources": {}, "duration": "1h"}, "resources"),
        ("/capacity", {"resources": {"cpu": "x"}}, "resources.cpu"),
        ("/capacity", {"profile": "fastest"}, "profile"),
        ("/plan", {"name": "a", "profile": "fastest"}, "profile"),
        ("/plan", {"name": "a", "replicas": 100_000}, "replicas"),
    ],
)
def test_other_bodies_are_read_as_strictly(http: httpx.Client, path: str, body: Any, field: str) -> None:
    problem = problem_in(http.post(path, json=body), 422)
    assert field in [error["field"] for error in problem["errors"]], problem


def test_a_patch_with_a_bad_label_changes_nothing(http: httpx.Client) -> None:
    before = http.get("/nodes/node-1").json()
    problem_in(http.patch("/nodes/node-1", json={"labels": {"fine": "1", "not fine": "2"}}), 422)
    assert http.get("/nodes/node-1").json() == before


def test_more_than_is_free_cannot_be_reserved(http: httpx.Client) -> None:
    body = {"node": "node-1", "resources": {"cpu": 1000}, "duration": "1h"}
    problem_in(http.post("/reservations", json=body), 409)
    problem_in(http.post("/reservations", json=body | {"node": "nowhere"}), 404)
    assert http.get("/reservations").json()["items"] == []
