"""The worst request of every kind beside steady use: how long it makes others wait, and how much memory it takes.

A live server with 1,000 simulated nodes and one registered node. Beside it run small submissions, heartbeats and
questions, a few of each a second, over connections of their own. A kind is sent several times. Each time the longest
that any other request took, from then until the server is at rest again, is noted, and the longest in a window before
it in which nothing was sent; likewise the time from a submission until its decision. A figure is the median of the
former less the median of the latter: the host of a virtual machine takes its processors away now and then, for longer
than any bar here, and a maximum sees each of these moments. Memory is what the peak of the server grew by over all
rounds, its readers included. Whether a request is refused or accepted does not matter here.

The hostile work is in a namespace of its own, and the order is `fair`, as where tenants share a cluster. With the order
`priority`, whoever comes after ten thousand tasks of the same priority waits until these are decided: that is what the
order means.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.control.server import Server, running
from benchmarks.harness import Bar, Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, once
from benchmarks.process_memory import MB
from dovetail.control.plane import WARM_UP_AFTER_S

DELAY_MS, LARGE_DELAY_MS, GROWTH_MB = 50.0, 200.0, 150.0
ROUNDS = 5
PAUSE_S = 0.03
REST_S = 2.0
STARTED_S = WARM_UP_AFTER_S + 3.0  # by then the server has loaded everything
LARGEST = 8 * 2**20 - 1000
JSON, YAML = {"Content-Type": "application/json"}, {"Content-Type": "application/yaml"}

#: What is sent in a round. A body with this mark gets the number of the round there: names are taken once.
Send = Callable[[Server, httpx.Client, int], None]
MARK = "round-0"


def _post(server: Server, body: bytes, headers: dict[str, str] = JSON) -> None:
    with server.client() as client:
        client.post("/workloads", content=body, headers=headers)


def _workload(name: str, namespace: str = "hostile", **fields: Any) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "resources": {"cpu": "10m", "memory": "1MiB"}, **fields}


def _affinity(values: int) -> bytes:
    listed = [f"zone-{number}" for number in range(values)]
    match = {"key": "zone", "operator": "In", "values": listed}
    return json.dumps(_workload(f"listed-{MARK}", node_affinity={"required": [{"match": [match]}]})).encode()


def _constraints(workloads: int, each: int, size: int) -> bytes:
    def text(number: int) -> str:
        parts = [f'node.labels.a{number}x{part} != "v{part}"' for part in range(size)]
        return " && ".join(parts)

    work = [
        _workload(f"strict{n}-{MARK}", constraints=[{"prefer": text(n * each + k)} for k in range(each)])
        for n in range(workloads)
    ]
    return json.dumps(work).encode()


def _pattern() -> bytes:
    worst = "|".join(f"[a-z0-9-]*[a-z][a-z0-9-]{{{count}}}Z" for count in range(2, 24))[:600]
    return json.dumps(_workload(f"pattern-{MARK}", constraints=[{"prefer": f"node.name.matches('{worst}')"}])).encode()


def _batch(workloads: int, replicas: int) -> bytes:
    return json.dumps([_workload(f"many{n}-{MARK}", replicas=replicas) for n in range(workloads)]).encode()


def _different(workloads: int) -> bytes:
    """No two ask for the same."""
    work = [_workload(f"other{n}-{MARK}") | {"resources": {"cpu": f"{10 + n}m"}} for n in range(workloads)]
    return json.dumps(work).encode()


def _yaml() -> bytes:
    """Eight megabytes of the smallest values."""
    return b"- {name: a, labels: {" + b"a: b, " * ((LARGEST - 40) // 6) + b"}}"


def _aliases() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines).encode()


def _header(server: Server, _client: httpx.Client, _number: int) -> None:
    with _connected(server) as one:
        try:
            one.sendall(b"GET /api/v1/workloads HTTP/1.1\r\nHost: localhost\r\nX-Large: ")
            for _ in range(150):
                one.sendall(b"x" * 2**20)
        except OSError:
            return  # refused, as it should be


def _half_sent(server: Server, _client: httpx.Client, _number: int) -> None:
    head = b"POST /api/v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with ExitStack() as stack:
        for _ in range(200):
            try:
                one = stack.enter_context(_connected(server))
                one.sendall(head + f"Content-Length: {LARGEST}\r\n\r\n".encode() + b" " * (LARGEST // 2))
            except OSError:
                continue


def _slow(server: Server, _client: httpx.Client, _number: int) -> None:
    with ExitStack() as stack:
        for _ in range(500):
            try:
                stack.enter_context(_connected(server)).sendall(b"GET /api/v1/workloads HTTP/1.1\r\nX: ")
            except OSError:
                continue
        time.sleep(REST_S)


@contextmanager
def _connected(server: Server) -> Iterator[socket.socket]:
    url = httpx.URL(server.url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as one:
        yield one


def _replicas(server: Server, client: httpx.Client, number: int) -> None:
    """As many tasks as one submission may have; and they are cancelled while they start."""
    _post(server, _in_round(_batch(5, 10_000), number))
    for index in range(5):
        name = f"many{index}-{MARK}".replace(MARK, _mark(number))
        client.delete(f"/workloads/{name}?namespace=hostile").raise_for_status()


def _mark(number: int) -> str:
    return MARK.replace("0", str(number))


def _in_round(body: bytes, number: int) -> bytes:
    return body.replace(MARK.encode(), _mark(number).encode())


def _sends(body: bytes, headers: dict[str, str] = JSON, times: int = 1) -> Send:
    def send(server: Server, _client: httpx.Client, number: int) -> None:
        sent = server, _in_round(body, number), headers
        threads = [threading.Thread(target=_post, args=sent) for _ in range(times)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return send


@dataclass(frozen=True, slots=True)
class HostileKind:
    name: str
    send: Send
    large: bool = False

    @property
    def bars(self) -> tuple[Bar, Bar, Bar]:
        most = LARGE_DELAY_MS if self.large else DELAY_MS
        name = f"hostile.{self.name}"
        return (
            at_most(f"{name}.delay", most, "ms"),
            at_most(f"{name}.decision_delay", most, "ms"),
            at_most(f"{name}.memory", GROWTH_MB, "MB"),
        )


KINDS = (
    HostileKind("in_list_1000", _sends(_affinity(1000))),
    HostileKind("in_list_16000", _sends(_affinity(16_000))),
    HostileKind("in_list_500000", _sends(_affinity(500_000)), large=True),
    HostileKind("pattern", _sends(_pattern())),
    HostileKind("constraints", _sends(_constraints(10, 5, 100))),
    HostileKind("constraints_20_each", _sends(_constraints(10, 20, 100))),
    HostileKind("batch", _sends(_batch(500, 1))),
    HostileKind("batch_different", _sends(_different(500))),
    HostileKind("batch_5000", _sends(_batch(5000, 1))),
    HostileKind("replicas", _replicas),
    HostileKind("yaml", _sends(_yaml(), YAML, times=4), large=True),
    HostileKind("yaml_aliases", _sends(_aliases(), YAML)),
    HostileKind("header", _header),
    HostileKind("slow_headers", _slow),
    HostileKind("half_sent_bodies", _half_sent, large=True),
)


@dataclass(slots=True)
class SteadyUse:
    """Small requests of all kinds, each sort on a thread with a connection of its own."""

    server: Server
    request_ms: list[tuple[float, float]] = field(default_factory=list)
    decision_ms: list[tuple[float, float]] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        threads = [threading.Thread(target=one) for one in (self._submit, self._beat, self._ask)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def _timed(self, request: Callable[[], httpx.Response]) -> httpx.Response:
        began = time.perf_counter()
        try:
            return request()
        finally:
            ended = time.perf_counter()
            self.request_ms.append((ended, (ended - began) * 1000))

    def _repeat(self, once: Callable[[httpx.Client, int], None]) -> None:
        with self.server.client() as client:
            number = 0
            while not self._ended.wait(PAUSE_S):
                once(client, number)
                number += 1

    def _submit(self) -> None:
        def once(client: httpx.Client, number: int) -> None:
            began = time.perf_counter()
            name = f"steady-{time.monotonic_ns()}-{number}"
            answer = self._timed(lambda: client.post("/workloads", json=_workload(name, "default")))
            if answer.status_code != httpx.codes.CREATED:
                return
            while client.get(f"/workloads/{name}").json().get("placed_at") is None and not self._ended.is_set():
                time.sleep(0.001)
            ended = time.perf_counter()
            self.decision_ms.append((ended, (ended - began) * 1000))
            client.delete(f"/workloads/{name}")

        self._repeat(once)

    def _beat(self) -> None:
        self._repeat(lambda client, _: void(self._timed(lambda: client.post("/nodes/beating/heartbeat", json={}))))

    def _ask(self) -> None:
        paths = ("/summary", "/workloads?limit=10", "/nodes/sim-0001", "/queues")
        self._repeat(lambda client, n: void(self._timed(lambda: client.get(paths[n % len(paths)]))))

    def longest(self, since: float) -> tuple[float, float]:
        """Of requests and of decisions that ended since then."""
        requests = [ms for ended, ms in list(self.request_ms) if ended >= since]
        decisions = [ms for ended, ms in list(self.decision_ms) if ended >= since]
        return max(requests, default=0.0), max(decisions, default=0.0)

    def rest(self) -> None:
        """Until every sort of request has been fast for a while."""
        give_up_at = time.perf_counter() + 120
        while time.perf_counter() < give_up_at:
            since = time.perf_counter()
            time.sleep(REST_S)
            if self.decision_ms and self.decision_ms[-1][0] >= since and self.longest(since)[1] < 4 * DELAY_MS:
                return


def void(_: object) -> None:
    """For a value that is of no interest."""


def _resident_bytes(pid: int) -> int:
    """Of a process and of those that it started."""
    found = 0
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                found += int(line.split()[1]) * 1024
        listed = [int(child) for task in children.parent.parent.iterdir() for child in _children(task)]
    except OSError:
        return found
    return found + sum(map(_resident_bytes, listed))


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:
        return []


@contextmanager
def _peak_of(pid: int) -> Iterator[list[int]]:
    """How much the process and its children hold, looked at a hundred times a second: the last item is the peak."""
    peaks, ended = [_resident_bytes(pid)], threading.Event()

    def look() -> None:
        while not ended.wait(0.01):
            peaks.append(max(peaks[-1], _resident_bytes(pid)))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield peaks
    finally:
        ended.set()
        looking.join()


def _measured(kind: HostileKind) -> Callable[[Bench], Iterator[tuple[str, Measured]]]:
    delay, decision_delay, memory = kind.bars

    def measure(bench: Bench) -> Iterator[tuple[str, Measured]]:
        with bench.folder() as folder, running(folder, order="fair") as server, server.client() as client:
            server.post_until_accepted(client, _workload("first"))
            client.post("/nodes", json={"name": "beating", "capacity": {"cpu": 1}}).raise_for_status()
            _post(server, _affinity(500))  # a reader has started, as on any server that is in use
            use = SteadyUse(server)
            usual, late = [], []
            with use.going_on(), _peak_of(server.process.pid) as peaks:
                time.sleep(STARTED_S)
                use.rest()
                held = peaks[-1]
                for number in range(ROUNDS):
                    began = time.perf_counter()
                    time.sleep(REST_S)
                    usual.append(use.longest(began))
                    began = time.perf_counter()
                    kind.send(server, client, number)
                    use.rest()
                    late.append(use.longest(began))
            grown = (peaks[-1] - held) / MB
        delays = [_delay(*both) for both in zip(zip(*late, strict=True), zip(*usual, strict=True), strict=True)]
        requests, decisions = delays
        bench.say(
            f"{kind.name}: requests +{requests.value:.0f} ms, decisions +{decisions.value:.0f} ms, +{grown:.0f} MB"
        )
        yield delay.name, requests
        yield decision_delay.name, decisions
        yield memory.name, once(grown, f"{ROUNDS} rounds, beside steady use")

    return measure


def _delay(late: Sequence[float], usual: Sequence[float]) -> Measured:
    told = [max(0.0, one - median(usual)) for one in late]
    return middle(told, "rounds, beside steady use")


NOTHING = HostileKind("nothing", _sends(json.dumps(_workload("harmless")).encode()))


def _without_bar(bar: Bar) -> Bar:
    return Bar(bar.name, bar.unit, bar.better, None)


#: How much the figures vary by themselves on this machine: the same with a harmless request.
benchmark(*map(_without_bar, NOTHING.bars))(_measured(NOTHING))
for _kind in KINDS:
    benchmark(*_kind.bars)(_measured(_kind))
