"""Costs and budgets for Prometheus, read from memory when they are scraped."""

import time
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily

from dovetail.control.cost.book import CostBook
from dovetail.control.cost.budgets import Money
from dovetail.model.cost_facts import NANO

MOST_NAMES = 100  # by what they cost; the others are one series
OTHERS = "(others)"  # no namespace and no backend can be called that


class CostMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._book: CostBook | None = None
        registry.register(self)

    def follow(self, book: CostBook) -> None:
        self._book = book

    def collect(self) -> Iterator[GaugeMetricFamily]:
        labels = ["namespace", "currency"]
        cost = GaugeMetricFamily("dovetail_cost_month", "What work has cost this month", labels=labels)
        rate = GaugeMetricFamily("dovetail_cost_per_hour", "What running work costs per hour", labels=labels)
        idle_words = "What unused time of nodes has cost this month"
        idle = GaugeMetricFamily("dovetail_cost_idle_month", idle_words, labels=["backend", "currency"])
        left = GaugeMetricFamily("dovetail_budget_left", "What is left of a budget; below 0: over it", labels=labels)
        part = GaugeMetricFamily("dovetail_budget_spent_ratio", "What part of a budget is spent", labels=labels)
        if self._book is not None:
            spending, now = self._book.spending, time.time()
            for family, amounts in ((cost, spending.spent), (rate, spending.rates), (idle, spending.idle)):
                for (name, currency), nanos in _largest(amounts).items():
                    family.add_metric([name, currency], nanos / NANO)
            fullest = sorted(self._book.statuses(now), key=lambda one: -one.percent)
            for one in fullest[:MOST_NAMES]:
                names = [one.namespace, one.budget.currency]
                left.add_metric(names, one.budget.amount - one.spent)
                part.add_metric(names, one.percent / 100)
        yield from (cost, rate, idle, left, part)


def _largest(amounts: Mapping[Money, int]) -> dict[Money, int]:
    """The largest, and the sum of the others for each currency."""
    ordered = sorted(amounts.items(), key=lambda item: -item[1])
    found = dict(ordered[:MOST_NAMES])
    for (_, currency), nanos in ordered[MOST_NAMES:]:
        key = OTHERS, currency
        found[key] = found.get(key, 0) + nanos
    return found
