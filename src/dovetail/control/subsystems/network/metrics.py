"""Metrics of the measured network."""

from prometheus_client import CollectorRegistry, Gauge


class NetworkMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, words: str) -> Gauge:
            return Gauge(f"dovetail_network_{name}", words, registry=registry)

        self.agents = gauge("probing_agents", "Agents that answer probes")
        self.measured_pairs = gauge("measured_pairs", "Pairs of nodes whose round-trip time is measured")
        self.estimated_pairs = gauge("estimated_pairs", "Pairs of nodes whose round-trip time is estimated")
        self.unreachable_pairs = gauge("unreachable_pairs", "Measured pairs between which no packet comes through")
        self.contradictions = gauge("contradictions", "Nodes that measure unlike their description")
        self.round_s = gauge("probe_round_seconds", "How long a round of probes takes")
        self.rtt_s = Gauge(
            "dovetail_network_rtt_seconds", "Round-trip times of measured pairs", ["quantile"], registry=registry
        )
        self.longest_loss = gauge("worst_loss_ratio", "The highest share of lost packets between two nodes")
