"""Services on a real server with real processes: updates under load, health checks, going back, killed servers."""

import json
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.daemon import free_ports

from dovetail.client import Client, DovetailError
from dovetail.responses.services import ReplicaRow, ServiceDetail

pytestmark = pytest.mark.needs_server
SETTINGS = {
    "backends": {"here": {"kind": "local", "node": "n1", "run_as": "server", "capacity": {"cpu": 64}, "grace_s": "5s"}},
    "scheduling": {"backoff": {"first": "100ms", "jitter": 0}},
}
#: Answers with its version. Unready while there is a file `unready`, `unready-INDEX` or `unready-VERSION`; dead from a
#: file `dead-INDEX` on until it starts.
PROGRAM = """
import os, signal, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
dead = "dead-" + os.environ["DOVETAIL_INDEX"]
if os.path.exists(dead):
    os.remove(dead)
unready = ["unready"] + ["unready-" + os.environ[one] for one in ("DOVETAIL_INDEX", "VERSION")]
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = {"/ready": unready, "/alive": [dead]}.get(self.path, [])
        unwell = any(map(os.path.exists, asked))
        text = (os.environ["VERSION"] + " " + os.environ["DOVETAIL_INDEX"]).encode()
        self.send_response(503 if unwell else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *words):
        pass
server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Answer)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server.serve_forever(0.1)
"""
STARTS = {"tcp": {}, "every": "100ms", "failures": 1000}
DRAIN_S = 0.5


def web(folder: Path, version: str = "1", name: str = "web", **fields: Any) -> dict[str, Any]:
    update = {"drain": f"{DRAIN_S}s", "healthy_within": "60s", **fields.pop("update", {})}
    return {
        "name": name,
        "replicas": 3,
        "ports": [{"name": "http"}],
        "resources": {"cpu": "100m"},
        "health": {"readiness": {"http": "/ready", "every": "100ms", "timeout": "10s"}},
        "run": {
            "command": [sys.executable, "-I", "-S", "-c", PROGRAM],
            "env": {"VERSION": version},
            "workdir": str(folder),
        },
        "update": update,
        **fields,
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server"), SETTINGS) as found:
        yield found


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as found:
        yield found
        for row in found.services():
            if not row["removed"]:
                found.remove_service(row["name"])
        wait_for(lambda: not found.services(), "nothing is left of a removed service")


def settled(client: Client, name: str = "web", rollout: str = "complete") -> ServiceDetail:
    """When its update has ended so, its replicas are ready, and those of other revisions are gone."""

    def look() -> ServiceDetail | None:
        row = client.service(name)
        new = [one for one in row["items"] if one["revision"] == row["revision"] and one["ready"]]
        return row if row["rollout"] == rollout and len(new) == len(row["items"]) == row["replicas"] else None

    return wait_for(look, f"{name}: {rollout}")


def replica(client: Client, name: str, index: int = 0) -> ReplicaRow:
    return wait_for(lambda: next((one for one in client.service(name)["items"] if one["index"] == index), None))


def address_of(one: ReplicaRow) -> str:
    return f"http://{one['address']}:{next(iter(one['ports'].values()))}"


def asked(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        text: str = answer.read().decode()
        return text


class Load:
    """Asks ready replicas in turn, as one who follows their addresses; what failed is kept.

    A replica that goes is asked no more by whoever looks at the addresses once in `drain`. On a busy machine the load
    itself may look later than that: then a replica that is gone is no fault, and `late` counts it.
    """

    def __init__(self, url: str, name: str = "web") -> None:
        self._client, self._name = Client(url), name
        self._seen: tuple[float, list[str]] = (0.0, [])  # when it looked, and the addresses
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._follow, self._hammer)]
        self.versions: Counter[str] = Counter()
        self.failures: list[str] = []
        self.asked = self.late = 0
        self.least_ready = 99

    def _follow(self) -> None:
        while not self._ending.is_set():
            looked_at = time.monotonic()
            try:
                rows = self._client.service(self._name)["items"]
            except DovetailError:  # the server is down: the last addresses still count
                self._seen = (looked_at, self._seen[1])
                self._ending.wait(0.05)
                continue
            ready = [address_of(one) for one in rows if one["ready"]]
            self.least_ready = min(self.least_ready, len(ready))
            # Right after a start of the server nobody has been asked yet.
            self._seen = (looked_at, ready or self._seen[1])
            self._ending.wait(0.05)

    def _hammer(self) -> None:
        number = 0
        while not self._ending.wait(0.02):
            looked_at, addresses = self._seen
            if not addresses:
                continue
            number += 1
            self.asked += 1
            try:
                self.versions[asked(addresses[number % len(addresses)]).split()[0]] += 1
            except OSError as error:
                if (age_s := time.monotonic() - looked_at) < DRAIN_S:
                    self.failures.append(f"{error}, {age_s:.2f} s after a look at the addresses")
                else:
                    self.late += 1

    def __enter__(self) -> "Load":
        for one in self._threads:
            one.start()
        wait_for(lambda: self.versions)
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for one in self._threads:
            one.join()
        self._client.close()

    def until(self, version: str) -> None:
        """Until answers of this version came, and of no other."""
        wait_for(lambda: self.versions[version])
        self.versions.clear()
        wait_for(lambda: sum(self.versions.values()) > 20)


# --- updates -------------------------------------------------------------------------------------------------


def test_an_update_under_load_drops_no_request_and_undo_and_restart_are_updates_too(
    client: Client, server: ServerProcess, tmp_path: Path
) -> None:
    assert client.apply(web(tmp_path))[0]["outcome"] == "created"
    first = settled(client)
    assert sorted(asked(address_of(one)) for one in first["items"]) == ["1 0", "1 1", "1 2"]
    with Load(server.url) as load:
        (planned,) = client.apply(web(tmp_path, "2"), dry_run=True)
        assert (planned["outcome"], planned["replaced"]) == ("replaced", 3)
        assert client.service("web")["revision"] == 1
        client.apply(web(tmp_path, "2"), by="ada")
        assert [row["cause"] for row in settled(client)["revisions"]] == ["", "ada"]
        load.until("2")
        assert set(load.versions) == {"2"}
        client.undo_rollout("web")
        settled(client)
        load.until("1")
        assert set(load.versions) == {"1"}
        client.restart_service("web")
        assert settled(client)["revision"] == 3
    assert load.failures == []
    assert load.least_ready >= 3


def test_an_update_that_changes_port_and_checks_too_asks_old_replicas_in_their_own_way(
    client: Client, server: ServerProcess, tmp_path: Path
) -> None:
    client.apply(web(tmp_path, replicas=2))
    settled(client)
    health = {"readiness": {"http": {"path": "/other", "port": "fresh"}, "every": "100ms", "timeout": "10s"}}
    with Load(server.url) as load:
        load.least_ready = 99
        changed = web(tmp_path, "2", replicas=2, ports=[{"name": "fresh"}], health=health)
        changed["health"] |= {
            "startup": STARTS,
            "liveness": {"tcp": "fresh", "every": "100ms", "timeout": "20s", "failures": 1},
        }
        client.apply(changed)
        row = settled(client)
    assert load.failures == []
    assert load.least_ready >= 2
    assert [one["restarts"] for one in row["items"]] == [0, 0]


def test_blue_green_keeps_all_old_replicas_until_all_new_ones_are_ready(
    client: Client, server: ServerProcess, tmp_path: Path
) -> None:
    client.apply(web(tmp_path, update={"strategy": "blue_green"}))
    settled(client)
    with Load(server.url) as load:
        client.apply(web(tmp_path, "2", update={"strategy": "blue_green"}))
        wait_for(lambda: len(client.service("web")["items"]) == 6)
        settled(client)
    assert load.failures == []
    assert load.least_ready >= 3


def test_a_version_that_crashes_is_rolled_back_and_the_old_one_serves_meanwhile(
    client: Client, server: ServerProcess, tmp_path: Path
) -> None:
    client.apply(web(tmp_path))
    settled(client)
    with Load(server.url) as load:
        client.apply(web(tmp_path, "2") | {"run": {"command": ["sh", "-c", "echo no; exit 3"]}})
        row = settled(client, rollout="rolled_back")
    assert row["revision"] == 1
    assert "revision 2 did not become healthy, back to revision 1" in row["message"]
    assert "exited with status 3" in row["message"]
    assert load.failures == []
    assert load.least_ready >= 3


def test_a_server_that_is_killed_in_the_middle_of_an_update_goes_on_with_it(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, SETTINGS) as own, Client(own.url) as client:
        client.apply(web(tmp_path))
        settled(client)
        with Load(own.url) as load:
            client.apply(web(tmp_path, "2"))
            for _ in range(2):
                wait_for(lambda: any(one["revision"] == 2 for one in client.service("web")["items"]))
                own.kill()
                own.start()
            row = settled(client)
            load.until("2")
        assert row["revision"] == 2
        assert load.failures == []
        assert [one["restarts"] for one in row["items"]] == [0, 0, 0]
        client.remove_service("web")
        wait_for(lambda: not client.services())


# --- crashes and health --------------------------------------------------------------------------------------


def test_a_crash_loop_is_shown_as_one_and_the_service_gets_well_with_a_new_definition(
    client: Client, tmp_path: Path
) -> None:
    broken = web(tmp_path, replicas=1) | {"run": {"command": ["sh", "-c", "exit 3"]}}
    client.apply(broken)
    one = wait_for(lambda: found if (found := replica(client, "web"))["state"] == "crash_loop" else None)
    assert "exited with status 3; restart" in one["message"]
    row = wait_for(lambda: found if (found := client.service("web"))["rollout"] == "failed" else None)
    assert "does not become healthy: replica 0: exited with status 3" in row["message"]
    client.apply(web(tmp_path, replicas=1))
    assert settled(client)["message"] == ""


def test_an_unready_replica_gets_no_traffic_and_is_not_started_again(client: Client, tmp_path: Path) -> None:
    client.apply(web(tmp_path, replicas=1))
    settled(client)
    (tmp_path / "unready").touch()
    one = wait_for(lambda: None if (found := replica(client, "web"))["ready"] else found)
    assert (one["state"], one["message"]) == ("unready", "readiness check: /ready answers 503")
    (tmp_path / "unready").unlink()
    assert settled(client)["items"][0]["restarts"] == 0


def test_a_replica_that_fails_its_liveness_check_is_started_again_under_its_name(
    client: Client, tmp_path: Path
) -> None:
    spec = web(tmp_path, replicas=2)
    alive = {"http": "/alive", "every": "100ms", "timeout": "20s", "failures": 2}
    spec["health"] |= {"startup": STARTS, "liveness": alive}
    client.apply(spec)
    before = settled(client)["items"]
    (tmp_path / "dead-1").touch()
    wait_for(lambda: replica(client, "web", 1)["restarts"] == 1)
    after = settled(client)["items"]
    assert [one["restarts"] for one in after] == [0, 1]
    assert [one["workload"] for one in after] == [one["workload"] for one in before]
    attempts = json.dumps(client.attempts(str(after[1]["workload"]))["items"])
    assert "liveness check failed 2 times in a row: /alive answers 503" in attempts


def test_checks_by_command_run_where_the_replica_runs_and_nothing_is_asked_before_startup_is_well(
    client: Client, tmp_path: Path
) -> None:
    spec = web(tmp_path, replicas=1)
    command = ["sh", "-c", 'test -e started && test "$VERSION" = 1']
    spec["health"] |= {"startup": {"command": command, "every": "100ms", "timeout": "20s", "failures": 1000}}
    client.apply(spec)
    one = wait_for(lambda: found if "exits with 1" in (found := replica(client, "web"))["message"] else None)
    assert (one["state"], one["message"]) == ("unready", "startup check: sh exits with 1")
    (tmp_path / "started").touch()
    settled(client)


def test_checks_change_in_place(client: Client, tmp_path: Path) -> None:
    client.apply(web(tmp_path, replicas=1))
    before = settled(client)["items"][0]["workload"]
    changed = web(tmp_path, replicas=1, health={"readiness": {"http": "/nowhere", "every": "100ms"}})
    assert client.apply(changed)[0]["outcome"] == "changed"
    assert settled(client)["items"][0]["workload"] == before


# --- size, names, ports --------------------------------------------------------------------------------------


def test_scaling_down_stops_the_highest_index_and_nothing_else(client: Client, tmp_path: Path) -> None:
    client.apply(web(tmp_path))
    before = {one["index"]: one["workload"] for one in settled(client)["items"]}
    client.scale("web", 1)
    assert [one["workload"] for one in settled(client)["items"]] == [before[0]]
    client.scale("web", 0)
    assert settled(client)["items"] == []
    with pytest.raises(DovetailError, match="10000"):
        client.scale("web", 10_001)


def test_names_of_services_and_replicas_work_where_names_of_workloads_do(client: Client, tmp_path: Path) -> None:
    client.apply(
        web(tmp_path) | {"run": {"command": ["sh", "-c", "echo I am $DOVETAIL_INDEX; sleep 1000"]}, "health": {}}
    )
    settled(client)
    wait_for(lambda: client.logs("web.2").text == "I am 2\n")
    assert client.workload("web.1")["name"] == "web-r1-1"
    with pytest.raises(DovetailError, match=r"web.* is a service with 3 workloads; name a replica: web\.0"):
        client.workload("web")
    with pytest.raises(DovetailError, match="service web has no replica 7 now"):
        client.workload("web.7")


def test_two_namespaces_may_have_a_service_of_one_name(client: Client, tmp_path: Path) -> None:
    sleeping = {"run": {"command": ["sleep", "1000"]}, "health": {}, "replicas": 1}
    client.apply([web(tmp_path) | sleeping | {"namespace": name} for name in ("one", "two")])
    wait_for(lambda: [row["ready"] for row in client.services()] == [1, 1])
    with pytest.raises(DovetailError, match="several namespaces; write one of: one/web, two/web"):
        client.service("web")
    client.scale("two/web", 2)
    wait_for(lambda: client.service("two/web")["ready"] == 2)
    assert client.service("one/web")["replicas"] == 1
    numbers = [one["ports"]["http"] for name in ("one", "two") for one in client.service(f"{name}/web")["items"]]
    assert len(set(numbers)) == 3, "a port is given once"
    for name in ("one", "two"):
        client.remove_service(f"{name}/web")


def test_a_port_that_another_service_has_on_the_only_node_is_waited_for(client: Client, tmp_path: Path) -> None:
    ports = [{"name": "http", "port": free_ports(1)[0]}]
    client.apply(web(tmp_path, replicas=1, ports=ports))
    settled(client)
    client.apply(web(tmp_path, name="shop", replicas=1, ports=ports))
    one = wait_for(lambda: found if (found := replica(client, "shop"))["message"] else None)
    assert one["state"] == "pending"
    client.remove_service("web")
    settled(client, "shop")


def test_an_update_that_finds_no_room_beside_the_old_replicas_says_why_and_is_rolled_back(
    client: Client, tmp_path: Path
) -> None:
    ports = [{"name": "http", "port": free_ports(1)[0]}]
    client.apply(web(tmp_path, replicas=1, ports=ports))
    settled(client)
    client.apply(web(tmp_path, "2", replicas=1, ports=ports, update={"healthy_within": "2s"}))
    assert "replica 0: " in settled(client, rollout="rolled_back")["message"]


# --- what other versions wrote -------------------------------------------------------------------------------


def test_a_definition_that_this_version_refuses_stops_nothing_and_can_be_applied_again(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, SETTINGS) as own, Client(own.url) as client:
        client.apply([web(tmp_path, name=name, replicas=1) for name in ("odd", "other")])
        before = settled(client, "odd")["items"][0]
        settled(client, "other")
        own.stop()
        (file,) = own.data.rglob("services/**/tables.db")
        with sqlite3.connect(file) as tables:
            tables.execute('UPDATE revisions SET spec = \'{"name": "odd", "teleport": true}\' WHERE name = \'odd\'')
        tables.close()
        own.start()
        settled(client, "other")
        client.scale("other", 2)
        settled(client, "other")
        assert [row["name"] for row in client.services()] == ["other"]
        assert asked(address_of(before)) == "1 0", "its replica was left alone"
        assert "teleport" in own.log.read_text()
        client.apply(web(tmp_path, "2", name="odd", replicas=1))
        row = settled(client, "odd")
        assert row["revision"] == 2
        assert wait_for(lambda: not _answers(address_of(before))), "its replica was replaced"
        for name in ("odd", "other"):
            client.remove_service(name)
        wait_for(lambda: not client.services())


def _answers(url: str) -> bool:
    try:
        return bool(asked(url))
    except (urllib.error.URLError, OSError):
        return False
