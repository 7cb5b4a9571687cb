"""Services that scale by what is measured: real HTTP answers, a real table, and a clock that the test sets."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dovetail.control.service_controller import book as book_module
from dovetail.control.service_controller.book import ReplicaView, ServiceBook
from dovetail.control.service_controller.scaling import Autoscaler
from dovetail.control.service_controller.signals import SignalMeter, counter_in, number_in
from dovetail.model.services.service import Service
from dovetail.services.records import Revision, RolloutState, ServiceRecord
from dovetail.store.subsystem_tables import SubsystemTables

KEY = ("default", "web")
REVISIONS = Path(book_module.__file__).parent / "revisions"


class Answers:
    """What the server of a test says, by path."""

    def __init__(self) -> None:
        self.by_path: dict[str, str] = {}
        self.port = 0


@contextmanager
def answering() -> Iterator[Answers]:
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.by_path.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield answers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def replica(index: int, port: int) -> ReplicaView:
    where = {"node": "n1", "address": "127.0.0.1", "ports": {"http": port}, "started_at": 0.0}
    return ReplicaView(
        index=index,
        revision=1,
        workload=index,
        workload_name=f"web-r1-{index}",
        state="running",
        ready=True,
        message="",
        restarts=0,
        key=f"{index}.0.1",
        **where,  # type: ignore[arg-type]
    )


class Scene:
    def __init__(self, folder: Path, autoscale: dict[str, object], replicas: int, port: int = 0) -> None:
        tables = SubsystemTables("services", folder / "tables.db", REVISIONS)
        self.book = ServiceBook(tables)
        self.port = port
        fields = {"name": "web", "ports": [{"name": "http"}], "resources": {"cpu": 0.5}, "autoscale": autoscale}
        spec = Service.model_validate(fields)
        complete = {"rollout": RolloutState.COMPLETE, "stable": 1}
        record = ServiceRecord(*KEY, (Revision(1, spec, 0.0),), target=1, replicas=replicas, **complete)  # type: ignore[arg-type]
        self.book.change(KEY, lambda _: record)
        self.cores: dict[str, float] = {}
        self.scaler = Autoscaler(self.book, SignalMeter(self.cores.get))

    def look(self, now: float) -> int:
        """The number of replicas after one look, once they are all there."""
        self.book.show({KEY: tuple(replica(index, self.port) for index in range(self.replicas))})
        asyncio.run(self._look(now))
        return self.replicas

    async def _look(self, now: float) -> None:
        await self.scaler.look(now)
        await self.scaler._meter.close()
        self.scaler._meter._client = None

    @property
    def replicas(self) -> int:
        record = self.book.get(KEY)
        assert record is not None
        return record.replicas


def test_the_length_of_a_queue_decides_and_a_short_dip_changes_nothing(tmp_path: Path) -> None:
    with answering() as answers:
        query = {"url": f"http://127.0.0.1:{answers.port}/length"}
        scene = Scene(tmp_path, {"min": 1, "max": 8, "target": 10, "query": query, "every": "1s", "calm": "60s"}, 2)
        answers.by_path["/length"] = "75"
        assert scene.look(100) == 4  # twice as many at most
        assert scene.look(102) == 8
        answers.by_path["/length"] = "12"
        assert scene.look(110) == 8
        answers.by_path["/length"] = "70"
        assert scene.look(120) == 8
        answers.by_path["/length"] = "12"
        numbers = [scene.look(130 + 2 * second) for second in range(60)]
        assert numbers[-1] == 2
        assert numbers == sorted(numbers, reverse=True)


def test_the_rate_of_a_counter_decides(tmp_path: Path) -> None:
    with answering() as answers:
        requests = {"counter": "http_requests_total"}
        scene = Scene(tmp_path, {"max": 10, "target": 5, "requests": requests, "every": "1s"}, 2, answers.port)
        answers.by_path["/metrics"] = 'http_requests_total{code="200"} 100\nhttp_requests_total{code="500"} 20\n'
        assert scene.look(100) == 2
        answers.by_path["/metrics"] = 'http_requests_total{code="200"} 190\nhttp_requests_total{code="500"} 30\n'
        assert scene.look(110) == 4  # ten a second each


def test_cores_in_use_decide(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"max": 10, "target": 0.5, "cpu": True, "every": "1s"}, 2)
    scene.cores.update({"0.0.1": 0.5, "1.0.1": 0.25})
    assert scene.look(100) == 3  # 75 % of what each asks for


@pytest.mark.parametrize("said", ["nonsense", "", '{"status": "error"}', None])
def test_a_signal_that_is_not_known_changes_nothing_and_says_so(tmp_path: Path, said: str | None) -> None:
    with answering() as answers:
        query = {"url": f"http://127.0.0.1:{answers.port}/length"}
        scene = Scene(tmp_path, {"max": 8, "target": 10, "query": query, "every": "1s"}, 3)
        if said is not None:
            answers.by_path["/length"] = said
        assert scene.look(100) == 3
        assert scene.book.trouble(KEY).startswith("does not scale itself now: ")


def test_numbers_and_answers_of_prometheus_are_read() -> None:
    assert number_in(b"17.5") == 17.5
    vector = b'{"data": {"resultType": "vector", "result": [{"value": [1, "2"]}, {"value": [1, "3.5"]}]}}'
    assert number_in(vector) == 5.5
    assert number_in(b'{"data": {"resultType": "scalar", "result": [1, "7"]}}') == 7.0
    assert "no number" in str(number_in(b"\xff"))
    assert counter_in(b"# TYPE hits counter\nhits_total 4\n", "hits") == 4.0
    assert counter_in(b"other 1\n", "hits") == "the metrics have no hits"
