"""The oracle of the market: what one task costs on one node, in plain Python, with sums in the documented order."""

from dataclasses import dataclass
from math import log1p

from dovetail.model.node import Node
from dovetail.model.offer import Offer
from dovetail.model.workloads.workload import Workload

WEIGHTS = {
    "cheapest": {"price": 1.0},
    "fastest": {"start": 100.0, "price": 1.0},
    "greenest": {"carbon": 100.0, "price": 1.0},
    "local-first": {"local": 10.0, "price": 1.0},
}
TO_INTERNET = {"aws": 0.09, "azure": 0.087, "gcp": 0.12}
GRAMS_OF_TESTS = {"aws/us-east-1": 340.0, "gcp/us-west1": 80.0}


@dataclass(frozen=True)
class MarketOracle:
    """A workload on a node."""

    workload: Workload
    node: Node

    @property
    def offer(self) -> Offer:
        return self.node.offer or Offer()

    def weight(self, name: str) -> float:
        prefer = self.workload.prefer
        assert prefer is not None
        weights = WEIGHTS[prefer] if isinstance(prefer, str) else prefer.model_dump()
        return float(weights.get(name, 0.0)) / sum(weights.values())

    @property
    def run_s(self) -> float:
        return max(self.workload.deadline.run_for or 3600.0, 1.0)

    @property
    def repeated(self) -> float:
        saved = self.workload.disruption.checkpoint_every
        unsaved_s = min(self.run_s, saved) if saved else self.run_s
        x = min(-log1p(-min(self.offer.interruption, 1 - 1e-6)) * (unsaved_s / 3600.0), 20.0)
        return x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0))))

    @property
    def wait_s(self) -> float:
        gigabytes = sum(size / 1e9 * 8.0 for place, size in self._inputs() if place != self.offer.place)
        return (0.0 if self.offer.running else self.offer.start_up) + gigabytes

    @property
    def egress(self) -> float:
        return sum(size / 1e9 * self._transfer(place) for place, size in self._inputs())

    def _transfer(self, place: str) -> float:
        provider, here = place.partition("/")[0], self.offer.place
        if place == here:
            return 0.0
        same = provider == here.partition("/")[0]
        return 0.02 if same and provider in TO_INTERNET else 0.0 if same else TO_INTERNET.get(provider, 0.0)

    def _inputs(self) -> list[tuple[str, int]]:
        return sorted((one.place, one.size) for one in self.workload.inputs)

    @property
    def share(self) -> float:
        if not self.offer.running:
            return 1.0
        capacity = self.node.capacity.amounts()
        needs = {name: amount for name, amount in self.workload.resources.amounts().items() if name != "slots"}
        return min(max([amount * (1.0 / capacity[name]) for name, amount in needs.items() if capacity.get(name)]), 1.0)

    @property
    def cost(self) -> float:
        kept_s = self.wait_s + self.run_s * (1.0 + self.repeated)
        return self.offer.price_per_hour * kept_s / 3600.0 * self.share + self.egress

    @property
    def grams(self) -> float:
        cores, gpus = self.node.capacity.cpu, self.node.capacity.gpu
        watts = cores * 6.0 + gpus * 400.0 if self.offer.watts is None else self.offer.watts
        each = self.offer.carbon_g_per_kwh
        per_kwh = GRAMS_OF_TESTS.get(self.offer.place, 480.0) if each is None else each
        return watts * per_kwh / 1000.0 * self.share * (self.run_s * (1.0 + self.repeated) / 3600.0)

    def points(self, score: str) -> float:
        weight, hours = self.weight(score), self.run_s / 3600.0
        if not weight:
            return 0.0
        if score == "price":
            return weight * hours / (hours + self.cost)
        if score == "start":
            return weight * self.run_s / (self.run_s + self.wait_s)
        if score == "carbon":
            return weight * hours / (hours + self.grams / 1000.0)
        if score == "egress":
            return weight / (1.0 + self.egress)
        if score == "risk":
            return weight / (1.0 + self.repeated)
        return weight if self.offer.place == "" else 0.0
