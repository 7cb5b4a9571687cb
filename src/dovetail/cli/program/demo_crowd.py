"""The users of the demo: several tenants that submit work over HTTP and sometimes give up waiting.

Before every round they look at the use of GPUs: below the target they submit faster, above it more slowly. A few large
gangs always wait: each needs many whole nodes at once. Everybody says how long work runs at most, as on a shared
cluster, so that starts can be predicted. Running the server is left to `serving`, and most of what they submit to
`simulate.stream`.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from dovetail.client import Client, ConnectError, DovetailError
from dovetail.model.workloads.arrangement import Arrangement
from dovetail.model.workloads.workload import Deadline, Gang, Workload
from dovetail.simulate.stream import WISHES, Stream, still_running

if TYPE_CHECKING:
    from dovetail.responses.workloads import AcceptedWorkload

ROUND_S = 0.5
BATCH = 250
WISHES_KEPT = 8  # workloads that fit on no node; older ones are cancelled
EAGERNESS = 20.0  # how strongly the rate reacts to use: at 5 % above the target submissions stop
MOST_FACTOR = 3.0
WINDOW_S = 48 * 3600.0
WHOLE_NODE_GPUS = 8
GANGS_WAITING = 3
GANG_NAME = "large-training"
GANG_TENANT = "research"
GANG_NODES = (48, 64, 96)
GANG_RUN_TIME_S = (30.0, 90.0)
ESTIMATES = (1.1, 1.3, 1.5, 2.0, 3.0)  # what users declare, as a multiple of what they need


@dataclass(slots=True)
class DemoCrowd:
    """`rate` workloads a second keep `target` of `gpus` GPUs busy, on average. `gangs_waiting`: so many large gangs
    always wait. `mix`: how much of each kind of work; None: as on any cluster."""

    rate: float
    gpus: int
    target: float
    seed: int
    gangs_waiting: int = GANGS_WAITING
    mix: Mapping[str, float] | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    _wishes: deque["AcceptedWorkload"] = field(default_factory=deque)
    _gangs: int = 0

    def stream(self) -> Stream:
        """Run times are stretched until the work that arrives fills as many GPUs as wanted."""
        plain = Stream(rate=self.rate) if self.mix is None else Stream(rate=self.rate, mix=dict(self.mix))
        scale = self.target * self.gpus / (plain.rate * plain.mean_gpu_seconds)
        return plain.model_copy(update={"run_time_scale": scale})

    def settle_in(self, client: Client) -> list[Workload]:
        """Submit the work that runs when the demo begins, and a few workloads that fit nowhere. Returns all of it.

        In a folder of an earlier demo it submits nothing: the demo goes on with the work of that one.
        """
        if any(client.summary()["workloads"].values()):
            return []
        stream = self.stream()
        window_s = WINDOW_S * stream.run_time_scale
        chance = self._chance("settled")
        there = still_running(stream, self.seed, window_s, int(self.gpus * self.target))
        there = [as_users_write_it(spec, chance) for spec in there]
        there += [Workload.model_validate({"name": name, **fields}) for name, fields in WISHES.items()]
        there += [self._gang(chance) for _ in range(self.gangs_waiting)]
        for batch in _batches(there):
            if self.stop.is_set():
                break
            client.submit(batch)
        return there

    def work(self, client: Client) -> None:
        """Submit until told to stop. If the server does not answer, try again."""
        # Names begin with the time, so that none of an earlier demo in the same folder is taken.
        prefix, chance = time.strftime("d%H%M%S"), self._chance("working")
        arrivals = self.stream().model_copy(update={"prefix": prefix}).arrivals(self.seed + 1)
        owed = 0.0
        while not self.stop.wait(ROUND_S):
            try:
                owed += self.rate * ROUND_S * self._factor(client)
                due = [as_users_write_it(spec, chance) for _, spec in islice(arrivals, int(owed))]
                owed -= len(due)
                due += [self._gang(chance, prefix) for _ in range(self._gangs_missing(client))]
                for batch in _batches(due):
                    self._wishes.extend(one for one in client.submit(batch) if "-wish-" in one["name"])
                self._give_up(client)
            except (ConnectError, DovetailError):
                continue

    def _chance(self, purpose: str) -> Random:
        return Random(f"{self.seed}/{purpose}")  # noqa: S311 (made-up work needs no secrets)

    def _gang(self, chance: Random, prefix: str = "") -> Workload:
        """A training on many whole nodes, as close together as possible."""
        self._gangs += 1
        nodes = chance.choice(GANG_NODES)
        fields = {
            "name": f"{prefix}-{GANG_NAME}-{self._gangs}".lstrip("-"),
            "namespace": GANG_TENANT,
            "user": f"{GANG_TENANT}-{chance.randrange(1, 9)}",
            "replicas": nodes,
            "gang": {"min": nodes},
            "topology": {"preferred": "leaf"},
            "resources": {"cpu": 96, "memory": "768GiB", "gpu": 8, "gpu_model": "H200"},
            "retries": 2,
            "run": {"simulate": {"run_time": round(chance.uniform(*GANG_RUN_TIME_S), 1)}},
        }
        return as_users_write_it(Workload.model_validate(fields), chance)

    def _gangs_missing(self, client: Client) -> int:
        if not self.gangs_waiting:
            return 0
        page = client.workloads(namespace=GANG_TENANT, name=GANG_NAME, state="pending", limit=self.gangs_waiting)
        return self.gangs_waiting - len(page["items"])

    def _factor(self, client: Client) -> float:
        gpu = client.summary()["resources"].get("gpu")
        share = float(gpu["share"]) if gpu is not None else 0.0
        return min(MOST_FACTOR, max(0.0, 1.0 + EAGERNESS * (self.target - share)))

    def _give_up(self, client: Client) -> None:
        while len(self._wishes) > WISHES_KEPT:
            client.cancel(self._wishes.popleft()["id"], reason="its user gave up waiting")


def as_users_write_it(spec: Workload, chance: Random) -> Workload:
    """With the longest run time that its user expects; a training on several whole nodes as a gang."""
    run_time_s = spec.run.simulate.run_time if spec.run.simulate is not None else None
    changes: dict[str, object] = {}
    if run_time_s is not None:
        changes["deadline"] = Deadline(run_for=round(run_time_s * chance.choice(ESTIMATES) + 1.0))
    if spec.replicas > 1 and spec.resources.gpu >= WHOLE_NODE_GPUS and spec.gang is None:
        changes |= {"gang": Gang(min=spec.replicas), "topology": Arrangement(preferred="leaf")}
    return spec.model_copy(update=changes)


def _batches(specs: Sequence[Workload]) -> Iterator[list[Workload]]:
    for start in range(0, len(specs), BATCH):
        yield list(specs[start : start + BATCH])
