"""The names of services: a real server with real replicas, `dovetail dns` as a process, and a real DNS client."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from urllib.request import urlopen

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.resolver
import pytest
from tests.e2e.agent_process import AgentProcess
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.daemon import free_ports
from tests.servers.warm_process import WarmProcess

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("dns")]
DNS = (sys.executable, "-m", "dovetail.cli.main", "dns")
HERE, THERE, ELSEWHERE = "127.0.0.1", "127.0.0.2", "127.0.0.9"
SERVES = 'exec python3 -m http.server "$PORT" --bind 0.0.0.0'
WEB = {
    "kind": "service",
    "name": "web",
    "replicas": 2,
    "ports": [{"name": "http"}],
    "run": {"command": ["sh", "-c", SERVES]},
    "health": {"readiness": {"http": "/", "every": "200ms", "timeout": "20s"}},
    "spread": [{"over": "host", "max_skew": 1}],
    "update": {"drain": "0s"},
}


class DnsProcess:
    """`dovetail dns` in a folder of its own: start, kill and start again."""

    def __init__(self, folder: Path, server: str, *options: str) -> None:
        self.port, self.data, self.log = free_ports(1)[0], folder / "dns", folder / "dns.log"
        self._options = ("--listen", f"{HERE}:{self.port}", "--data", str(self.data), "--url", server, *options)
        self.process: WarmProcess | None = None

    def start(self) -> "DnsProcess":
        with self.log.open("ab") as log:
            self.process = WarmProcess([*DNS, *self._options], stdout=log, stderr=log, env=dict(os.environ))
        return self

    def end(self, number: int = signal.SIGKILL) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait()

    def ask(self, name: str, kind: str = "A", source: str = HERE, timeout_s: float = 30.0) -> dns.message.Message:
        """Over UDP; over TCP if the answer says that it does not fit."""
        query = dns.message.make_query(name, kind, use_edns=0)
        found, _ = dns.query.udp_with_fallback(query, HERE, timeout_s, self.port, source)
        return found

    def values(self, name: str, kind: str = "A", source: str = HERE, timeout_s: float = 30.0) -> list[str]:
        answer = self.ask(name, kind, source, timeout_s)
        return [record.to_text() for records in answer.answer for record in records]

    def values_now(self, name: str, kind: str = "A", source: str = HERE) -> list[str]:
        """Empty while nobody answers. To wait with: on a busy machine an answer may come later."""
        try:
            return self.values(name, kind, source, timeout_s=2.0)
        except (dns.exception.DNSException, OSError):
            return []

    def resolver(self) -> dns.resolver.Resolver:
        found = dns.resolver.Resolver(configure=False)
        found.nameservers, found.port, found.timeout, found.lifetime = [HERE], self.port, 30.0, 60.0
        return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    backends = {
        name: {"kind": "local", "node": name, "address": address, "run_as": "server"}
        for name, address in (("here", HERE), ("there", THERE))
    }
    with ServerProcess(tmp_path_factory.mktemp("server"), {"backends": backends}) as found:
        yield found
        with Client(found.url) as client:
            for row in client.services():
                client.remove_service(row["name"])
            wait_for(lambda: not client.services(), "all services are gone")


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as found:
        yield found


@pytest.fixture(scope="module")
def names(server: ServerProcess, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DnsProcess]:
    """With service web, which has a replica on each node."""
    client.apply(WEB)
    found = DnsProcess(tmp_path_factory.mktemp("dns"), server.url).start()
    wait_for(lambda: set(found.values_now("web.default.dovetail")) == {HERE, THERE}, "both replicas have an address")
    yield found
    found.end()


def both_ready(names: DnsProcess) -> None:
    wait_for(lambda: len(names.values_now("_http._tcp.web.dovetail", "SRV")) == 2, "both replicas are ready")


def near_first(names: DnsProcess, source: str) -> None:
    wait_for(lambda: names.values_now("web.dovetail", source=source)[:1] == [source], "distances are known")


def test_the_near_endpoint_comes_first_for_the_node_that_asks(names: DnsProcess, client: Client) -> None:
    both_ready(names)
    for source, other in ((HERE, THERE), (THERE, HERE)):
        near_first(names, source)
        for _ in range(4):
            assert names.values("web.dovetail", source=source) == [source, other]
    firsts = [names.values("web.dovetail", source=ELSEWHERE)[0] for _ in range(4)]
    assert set(firsts) == {HERE, THERE}, "who asks from no node gets them in turn"
    for node, address in (("here", HERE), ("there", THERE)):
        rows = client.endpoints("web", start=node)["items"]
        assert [row["distance"] for row in rows] == [0.0, 100.0]
        assert rows[0]["address"] == address


def test_a_resolver_finds_the_port_where_a_replica_answers(names: DnsProcess) -> None:
    both_ready(names)
    services = names.resolver().resolve("_http._tcp.web.default.dovetail", "SRV")
    assert len(services) == 2
    for service in services:
        (address,) = names.resolver().resolve(service.target, "A")
        with urlopen(f"http://{address}:{service.port}/", timeout=10) as page:
            assert page.status == 200


def test_the_same_is_answered_over_tcp_and_for_prometheus(names: DnsProcess, client: Client) -> None:
    both_ready(names)
    query = dns.message.make_query("_http._tcp.web.dovetail", "SRV")
    ports = {record.port for record in dns.query.tcp(query, HERE, 30, names.port).answer[0]}
    targets = client.prometheus_targets(port="http", namespace="default")
    assert {int(one["targets"][0].rpartition(":")[2]) for one in targets} == ports
    assert {one["labels"]["__meta_dovetail_node"] for one in targets} == {"here", "there"}


def test_names_are_answered_while_the_control_plane_is_killed_and_comes_back(
    names: DnsProcess, server: ServerProcess, client: Client
) -> None:
    both_ready(names)
    seen: list[int | str] = []
    done = Event()

    def ask_all_the_time() -> None:
        while not done.wait(0.01):
            try:
                answer = names.ask("_http._tcp.web.dovetail", "SRV", timeout_s=30)
                seen.append(len(answer.answer[0]) if answer.answer else dns.rcode.to_text(answer.rcode()))
            except (dns.exception.DNSException, OSError) as error:
                seen.append(repr(error))

    asking = Thread(target=ask_all_the_time)
    asking.start()
    try:
        server.kill()
        wait_for(lambda: "no endpoints from the control plane" in names.log.read_text(), "it has noticed")
        server.start()
        wait_for(lambda: names.log.read_text().rstrip().endswith("follows the control plane"), "it follows again")
        before = len(seen)
        wait_for(lambda: len(seen) > before + 20, "it has answered since")
    finally:
        done.set()
        asking.join()
    assert set(seen) == {2}, "every answer named both replicas"


def test_it_answers_after_its_own_restart_while_the_control_plane_is_away(
    names: DnsProcess, server: ServerProcess
) -> None:
    both_ready(names)
    names.end(signal.SIGTERM)
    server.kill()
    names.start()
    both_ready(names)
    assert "uses the 2 endpoints in" in names.log.read_text()
    server.start()
    wait_for(lambda: names.log.read_text().rstrip().endswith("follows the control plane"), "it follows again")
    both_ready(names)


def test_a_dead_replica_is_in_no_answer_once_that_is_known(names: DnsProcess, client: Client) -> None:
    client.apply({**WEB, "name": "frail", "replicas": 1, "run": {"command": ["sh", "-c", "sleep 1000"]}, "health": {}})
    wait_for(lambda: names.values_now("frail.dovetail"), "it has an address")
    version = client.endpoints("frail")["version"]
    row = client.service("frail")["items"][0]
    client.cancel(str(row["workload"]), force=True)
    gone = client.endpoint_changes(after=version, wait_s=30)
    assert row["workload"] in gone["endpoints_gone"]
    client.scale("frail", 0)
    wait_for(lambda: not names.values("frail.dovetail"), "nothing is left of it")
    answer = names.ask("frail.dovetail")
    assert (answer.rcode(), len(answer.authority)) == (dns.rcode.NOERROR, 1)
    client.remove_service("frail")
    wait_for(lambda: names.ask("frail.dovetail").rcode() == dns.rcode.NXDOMAIN, "its name is gone")


def test_garbage_changes_nothing(names: DnsProcess) -> None:
    both_ready(names)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        for size in range(0, 600, 7):
            sending.sendto(os.urandom(size), (HERE, names.port))
    for rubbish in (b"", b"\0", b"\xff\xff" + b"x" * 100, b"\0\0"):
        with socket.create_connection((HERE, names.port), timeout=5) as sending:
            sending.sendall(rubbish)
    both_ready(names)


def test_other_names_are_refused_or_asked_of_the_resolver_that_was_named(
    names: DnsProcess, server: ServerProcess, tmp_path: Path
) -> None:
    both_ready(names)
    assert names.ask("example.org").rcode() == dns.rcode.REFUSED
    shown = free_ports(1)[0]
    options = ("--domain", "other", "--forward", f"{HERE}:{names.port}", "--metrics", f"{HERE}:{shown}", "--ttl", "1s")
    second = DnsProcess(tmp_path, server.url, *options).start()
    try:
        wait_for(lambda: len(second.values_now("web.other")) == 2, "it knows the endpoints")
        assert set(second.values("web.default.dovetail")) == {HERE, THERE}
        assert second.ask("nobody.dovetail").rcode() == dns.rcode.NXDOMAIN
        with urlopen(f"http://{HERE}:{shown}/metrics", timeout=10) as page:
            metrics = page.read().decode()
        assert "dovetail_dns_forwarded_queries_total 2.0" in metrics
        assert "dovetail_dns_endpoints 2.0" in metrics
    finally:
        assert second.end(signal.SIGTERM) == 0


def test_an_agent_answers_names_for_its_own_machine(
    server: ServerProcess, client: Client, names: DnsProcess, tmp_path: Path
) -> None:
    both_ready(names)
    agent = AgentProcess(tmp_path, "third")
    settings = tmp_path / "third.yaml"
    port = free_ports(1)[0]
    settings.write_text(f"{{dns: {{listen: '{HERE}:{port}'}}, {settings.read_text().strip()[1:]}\n")
    token = client.make_join_token(uses=1, ttl="10m")["token"]
    agent.start("--join", server.url, "--token", token)
    try:
        wait_for(lambda: set(_addresses(port)) == {HERE, THERE}, "it answers")
        agent.end()
        agent.start()
        wait_for(lambda: set(_addresses(port)) == {HERE, THERE}, "and again after a restart")
    finally:
        agent.end()
        client.remove_node("third")


def _addresses(port: int) -> list[str]:
    query = dns.message.make_query("web.dovetail", "A")
    try:
        answer = dns.query.udp(query, HERE, 2, port)
    except (dns.exception.DNSException, OSError):
        return []
    return [record.to_text() for records in answer.answer for record in records]


def test_an_address_in_use_is_said_with_what_to_do(names: DnsProcess, server: ServerProcess, tmp_path: Path) -> None:
    second = DnsProcess(tmp_path, server.url)
    second.port = names.port
    second._options = ("--listen", f"{HERE}:{names.port}", *second._options[2:])
    second.start()
    assert second.process is not None
    assert second.process.wait() == 1
    assert "choose another address with --listen" in second.log.read_text()
