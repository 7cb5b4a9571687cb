"""The panels of the Grafana dashboard, row by row: each answers one question, and says in words what it shows.

`S` in an expression is the selector of the chosen servers. How panels become Grafana's JSON: `tools/grafana.py`.
"""

from typing import NamedTuple

_SOON = 'rate(dovetail_http_request_seconds_bucket{S, route!~".*/(orders|heartbeat)"}[$__rate_interval])'


class Panel(NamedTuple):
    """`lines`: expressions with their legends. `width` and `height` in Grafana's grid. `steps`: from which value on
    which colour, beside green."""

    title: str
    words: str
    lines: list[tuple[str, str]]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    height: int = 8
    stacked: bool = False
    most: float | None = None
    steps: tuple[tuple[float, str], ...] = ()


def stat(title: str, words: str, expression: str, unit: str = "short", *steps: tuple[float, str]) -> Panel:
    return Panel(title, words, [(expression, "")], unit, "stat", 3, 4, steps=steps)


def quantiles(family: str, by: str = "", selector: str = "") -> list[tuple[str, str]]:
    """The half, 90 % and 99 % lines of a histogram."""
    legend = f" {{{{{by}}}}}" if by else ""
    grouped = f"le, {by}" if by else "le"
    return [
        (
            f"histogram_quantile({q}, sum by ({grouped}) (rate({family}_bucket{{S{selector}}}[$__rate_interval])))",
            f"p{p}{legend}",
        )
        for q, p in ((0.5, 50), (0.9, 90), (0.99, 99))
    ]


def rate(family: str, by: str, selector: str = "") -> tuple[str, str]:
    return f"sum by ({by}) (rate({family}{{S{selector}}}[$__rate_interval]))", f"{{{{{by}}}}}"


def share(resource: str) -> str:
    return f'avg(dovetail_allocated_ratio{{S, resource="{resource}"}})'


ROWS: dict[str, list[Panel]] = {
    "Now": [
        stat("Ready", "Whether it takes work", "min(dovetail_ready{S})", "bool_yes_no", (0, "red"), (1, "green")),
        stat("Nodes online", "Nodes that take work", 'sum(dovetail_nodes{S, status="online"})'),
        stat("GPUs allocated", "Share of online capacity", share("gpu"), "percentunit"),
        stat("CPU allocated", "Share of online capacity", share("cpu"), "percentunit"),
        stat(
            "Fragmentation",
            "Of the free GPU capacity, what typical work cannot use",
            'max(dovetail_gpu_fragmentation_ratio{S, kind="unusable"})',
            "percentunit",
            (0.2, "orange"),
            (0.4, "red"),
        ),
        stat("Waiting", "Workloads with waiting tasks", "sum(dovetail_workloads_waiting{S})"),
        stat(
            "Oldest waiting",
            "How long the workload has waited that waits longest",
            "max(dovetail_oldest_waiting_seconds{S})",
            "s",
            (3600, "orange"),
            (86400, "red"),
        ),
        stat("Decisions/s", "Decisions in a second", "sum(rate(dovetail_decisions_total{S}[$__rate_interval]))", "ops"),
    ],
    "Capacity": [
        Panel(
            "Utilisation per resource",
            "Allocated share of online capacity",
            [("avg by (resource) (dovetail_allocated_ratio{S})", "{{resource}}")],
            "percentunit",
            most=1,
        ),
        Panel(
            "Fragmentation of free GPUs",
            "Unusable: by typical work on average. Useless: by all of it",
            [("max by (kind) (dovetail_gpu_fragmentation_ratio{S})", "{{kind}}")],
            "percentunit",
        ),
        Panel(
            "How full nodes are",
            "The emptiest, the middle and the fullest node",
            [
                ("quantile by (resource) (0.05, dovetail_worker_utilization{S})", "p5 {{resource}}"),
                ("quantile by (resource) (0.5, dovetail_worker_utilization{S})", "p50 {{resource}}"),
                ("quantile by (resource) (0.95, dovetail_worker_utilization{S})", "p95 {{resource}}"),
            ],
            "percentunit",
            most=1,
        ),
        Panel(
            "Fullest domains of the network",
            "Share of GPUs, or of cores, that is taken or on nodes that take no work",
            [("topk(20, topology_domain_utilization_ratio{S})", "{{level}} {{domain}}")],
            "percentunit",
            "bargauge",
            12,
            most=1,
        ),
        Panel(
            "Nodes by status",
            "Offline ones keep their tasks, since they may still run them",
            [("sum by (status) (dovetail_nodes{S})", "{{status}}")],
            width=12,
            stacked=True,
        ),
    ],
    "Waiting": [
        Panel(
            "Waiting workloads by queue",
            "A queue counts with all below it",
            [("sum by (queue) (dovetail_queue_waiting{S})", "{{queue}}")],
        ),
        Panel("Wait until placed", "From submission to placement", quantiles("dovetail_queue_wait_seconds"), "s"),
        Panel("Placed until running", "By backend", quantiles("dovetail_task_start_seconds", "backend"), "s"),
        Panel(
            "Queue by queue: held",
            "Cores and GPUs in use, by queue with all below it",
            [('sum by (queue, resource) (dovetail_queue_used{S, resource=~"cpu|gpu"})', "{{queue}} {{resource}}")],
        ),
        Panel(
            "Queue by queue: guaranteed and borrowed",
            "What is guaranteed to a queue, and what it holds above that",
            [
                (
                    'sum by (queue, resource) (dovetail_queue_guaranteed{S, resource=~"cpu|gpu"})',
                    "{{queue}} {{resource}} guaranteed",
                ),
                (
                    'sum by (queue, resource) (dovetail_queue_borrowed{S, resource=~"cpu|gpu"})',
                    "{{queue}} {{resource}} borrowed",
                ),
            ],
        ),
        Panel(
            "Distance from the fair share",
            "0 is just right, 1 is twice of it; the tenants that are farthest off",
            [
                ("topk(10, dovetail_fair_share_deviation{S})", "{{tenant}}"),
                ("bottomk(10, dovetail_fair_share_deviation{S})", "{{tenant}}"),
            ],
        ),
    ],
    "Decisions": [
        Panel(
            "Decision latency",
            "Mean time of a decision in each turn of the loop",
            [("sum by (le) (increase(dovetail_scheduling_latency_seconds_bucket{S}[$__rate_interval]))", "{{le}}")],
            "s",
            "heatmap",
            12,
        ),
        Panel(
            "Decisions by outcome",
            "In a second",
            [rate("dovetail_decisions_total", "outcome")],
            "ops",
            width=12,
            stacked=True,
        ),
        Panel(
            "Failures by reason",
            "No place found, binds refused, too late",
            [rate("dovetail_scheduling_failures_total", "reason")],
            "ops",
        ),
        Panel(
            "Preemptions and moves",
            "Tasks in ten minutes",
            [
                ("sum(increase(dovetail_preemptions_total{S}[10m]))", "preempted"),
                ("sum(increase(dovetail_rebalancing_moves_total{S}[10m]))", "moved by rebalancing"),
                ("sum(increase(topology_recovery_moves_total{S}[10m]))", "moved by recovery"),
            ],
        ),
        Panel(
            "Ended tasks",
            "By how they ended, in a second",
            [rate("dovetail_tasks_finished_total", "state")],
            "ops",
            stacked=True,
        ),
        Panel(
            "Gangs arranged by the network",
            "Decisions by outcome, in a second",
            [rate("topology_placement_decisions_total", "outcome")],
            "ops",
        ),
        Panel(
            "Recovery of tasks",
            "From losing a node to the next one",
            quantiles("dovetail_recovery_duration_seconds"),
            "s",
        ),
        Panel(
            "Recovery of gangs",
            "From losing nodes to being whole again",
            quantiles("topology_recovery_duration_seconds"),
            "s",
        ),
    ],
    "Backends": [
        Panel(
            "Breakers",
            "1: the backend is used. 0: its breaker is open, and only probes are sent",
            [("min by (backend) (dovetail_backend_available{S})", "{{backend}}")],
            "bool_yes_no",
            "state-timeline",
            steps=((0, "red"), (1, "green")),
        ),
        Panel(
            "Calls that fail",
            "In a second",
            [rate("dovetail_backend_calls_total", "backend", ', outcome="failed"')],
            "ops",
        ),
        Panel(
            "Calls: 99 % are faster",
            "By backend",
            quantiles("dovetail_backend_call_seconds", "backend")[2:],
            "s",
        ),
        Panel(
            "Commands without an answer",
            "They are sent again with the same key",
            [("sum by (backend) (dovetail_backend_commands_waiting{S})", "{{backend}}")],
        ),
        Panel(
            "Agents",
            "Nodes with an agent: does it send heartbeats",
            [("sum by (state) (dovetail_agents{S})", "{{state}}")],
        ),
        Panel(
            "Services",
            "Replicas that there should be, and that are ready",
            [
                ("sum by (state) (dovetail_service_replicas{S})", "replicas {{state}}"),
                ('sum(dovetail_services{S, state="unsettled"})', "unsettled services"),
            ],
        ),
    ],
    "Cost and network": [
        Panel(
            "Cost per hour",
            "Of running work, by namespace",
            [("topk(10, sum by (namespace, currency) (dovetail_cost_per_hour{S}))", "{{namespace}} {{currency}}")],
            stacked=True,
        ),
        Panel(
            "This month",
            "What work has cost, and what unused time of nodes has cost",
            [
                ("sum by (currency) (dovetail_cost_month{S})", "work {{currency}}"),
                ("sum by (currency) (dovetail_cost_idle_month{S})", "unused {{currency}}"),
            ],
        ),
        Panel(
            "Budgets spent",
            "Those that are fullest",
            [("topk(10, dovetail_budget_spent_ratio{S})", "{{namespace}} {{currency}}")],
            "percentunit",
            "bargauge",
        ),
        Panel(
            "Round-trip times",
            "Of measured pairs of nodes",
            [("max by (quantile) (dovetail_network_rtt_seconds{S})", "q {{quantile}}")],
            "s",
        ),
        Panel(
            "Network in numbers",
            "Pairs without a connection, nodes unlike their description",
            [
                ("sum(dovetail_network_unreachable_pairs{S})", "unreachable pairs"),
                ("sum(dovetail_network_contradictions{S})", "contradictions"),
            ],
        ),
        Panel(
            "Balance",
            "Deviation of the load of nodes, and the mean distance of work that exchanges traffic",
            [
                ("max(dovetail_node_load_deviation{S})", "deviation"),
                ("max(dovetail_traffic_distance{S}) / 100", "distance / 100"),
            ],
        ),
    ],
    "Server": [
        Panel(
            "Requests by status", "In a second", [rate("dovetail_http_requests_total", "status")], "ops", stacked=True
        ),
        Panel(
            "Slowest routes",
            "99 % of their answers begin sooner; routes that wait on purpose are left out",
            [
                (f"topk(5, histogram_quantile(0.99, sum by (le, method, route) ({_SOON})))", "{{method}} {{route}}"),
            ],
            "s",
        ),
        Panel("One turn of the loop", "Deciding, and writing a step", quantiles("dovetail_slice_seconds", "part"), "s"),
        Panel("Memory", "Resident", [("process_resident_memory_bytes{S}", "{{instance}}")], "bytes"),
        Panel("CPU", "Cores", [("rate(process_cpu_seconds_total{S}[$__rate_interval])", "{{instance}}")]),
        Panel(
            "Subsystems",
            "Down, behind, or missing steps",
            [
                ("min by (subsystem) (dovetail_subsystem_up{S}) == 0", "{{subsystem}} down"),
                ("sum by (subsystem) (dovetail_subsystem_queued_steps{S})", "{{subsystem}} queued"),
                (
                    "sum by (subsystem) (increase(dovetail_subsystem_dropped_steps_total{S}[10m]))",
                    "{{subsystem}} dropped",
                ),
            ],
        ),
    ],
}
