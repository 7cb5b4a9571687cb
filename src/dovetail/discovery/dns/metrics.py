"""What the DNS server counts, for Prometheus."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from dovetail.discovery.dns.program import DnsProgram
from dovetail.discovery.dns.settings import SocketAddress


class DnsMetrics:
    """A collector: it reads the counts of a program when it is asked."""

    def __init__(self, program: DnsProgram) -> None:
        self._program = program

    def collect(self) -> Iterator[Metric]:
        program, counts = self._program, self._program.answers.counts
        answers = CounterMetricFamily("dovetail_dns_answers", "Answers by their code.", labels=["rcode"])
        codes = dict(counts.by_rcode)
        codes["NOERROR"] = codes.get("NOERROR", 0) + counts.kept
        for rcode, number in codes.items():
            answers.add_metric([rcode], number)
        yield answers
        for name, words, value in (
            ("kept_answers", "Answers that were not written anew.", counts.kept),
            ("truncated_answers", "Answers that did not fit, and said so.", counts.truncated),
            ("ignored_packets", "Packets that are no queries.", counts.ignored),
            (
                "dropped_queries",
                "Queries without an answer: too many at once, or it could not be sent.",
                program.server.dropped,
            ),
            ("forwarded_queries", "Queries that another resolver answered.", program.forwarder.forwarded),
            ("endpoint_changes", "Endpoints that came, changed or went.", program.follower.changes),
            ("busy_seconds", "Time spent on queries over UDP.", program.server.busy_s),
        ):
            yield CounterMetricFamily(f"dovetail_dns_{name}", words, value)
        yield GaugeMetricFamily("dovetail_dns_endpoints", "Endpoints that it knows.", program.endpoints)
        connected = float(program.follower.connected)
        yield GaugeMetricFamily("dovetail_dns_connected", "1 while the control plane answers.", connected)


def show_metrics(program: DnsProgram, address: SocketAddress) -> None:
    """Raises OSError."""
    registry = CollectorRegistry()
    registry.register(DnsMetrics(program))
    start_http_server(address.port, address.host, registry)
