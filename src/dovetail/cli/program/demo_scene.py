"""What a chapter of the demo's story can do: submit, cancel and break things, wait until something has happened, and
say so. Everything goes over HTTP, as a user would do it.

Guarantees: a fact is told only after the server confirmed it. What does not come about in time is told as that, and the
story goes on.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from dovetail.client import Client, ConnectError, DovetailError

if TYPE_CHECKING:
    from dovetail.responses.queues import QueueResource

T = TypeVar("T")

REASON = "the story of the demo"
WHOLE_NODE = {"cpu": 64, "memory": "512GiB", "gpu": 8}
GPUS_OF_A_NODE = 8
LEAVES = 25
PATIENCE_S = 60.0  # real seconds; a busy machine needs some of them
_LOOK_S = 0.1
_NOT_FOUND = 404


class StoryEnded(Exception):
    """The demo stops."""


@dataclass(slots=True)
class DemoScene:
    """`speed` shortens the pauses. `number` of the round: names of its work end in it, so that none is taken."""

    client: Client
    nodes_per_leaf: int
    tell: Callable[[str], None]
    stop: threading.Event
    speed: float = 1.0
    seed: int = 1
    number: int = 1
    _running: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        return LEAVES * self.nodes_per_leaf

    @property
    def gpus(self) -> int:
        return self.nodes * GPUS_OF_A_NODE

    def chance(self, purpose: str) -> Random:
        return Random(f"{self.seed}/{self.number}/{purpose}")  # noqa: S311 (a story needs no secrets)

    # --- time ----------------------------------------------------------------------------------------------------

    def hold(self, seconds: float) -> None:
        """Time for those who watch."""
        if self.stop.wait(seconds / self.speed):
            raise StoryEnded

    def until(self, question: Callable[[], T | None]) -> T | None:
        """The first answer that is something; None if there is none in time."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                if found := question():
                    return found
            except (ConnectError, DovetailError):
                if self.stop.is_set():
                    raise StoryEnded from None
            if self.stop.wait(_LOOK_S):
                raise StoryEnded
        return None

    def fact(self, found: object, words: str) -> None:
        """`found`: what `until` answered."""
        self.tell(f"  ✓ {words}" if found else f"  ✗ not in time: {words}")

    # --- work ----------------------------------------------------------------------------------------------------

    def submit(self, namespace: str, name: str, **fields: Any) -> str:
        """Work that runs until the chapter ends. Returns its name."""
        full = f"{name}-{self.number}"
        body: Mapping[str, Any] = {"namespace": namespace, "name": full, "run": {"simulate": {"run_time": "30d"}}}
        self._running.append(f"{namespace}/{full}")
        self.client.submit({**body, **fields})
        return f"{namespace}/{full}"

    def finish(self, *names: str) -> None:
        """These workloads, or all that the chapter still has, are done."""
        ending = names or tuple(self._running)
        for name in ending:
            self._running.remove(name)
            try:
                self.client.cancel(name, reason="done, as the story has it")
            except DovetailError as error:
                if error.status != _NOT_FOUND:  # its submission was refused
                    raise
        self.until(lambda: not any(self._there(name) for name in ending))

    def _there(self, name: str) -> bool:
        namespace, _, plain = name.partition("/")
        rows = self.client.workloads(namespace=namespace, name=plain, unfinished=True)["items"]
        return any(row["name"] == plain for row in rows)

    def nodes_of(self, name: str) -> set[str]:
        return {row["node"] for row in self.client.tasks(name) if row["node"] is not None}

    def leaves_of(self, nodes: Iterable[str]) -> set[str]:
        """`gpu-s1-l2-n03` is below the leaf `s1-l2`."""
        return {"-".join(node.split("-")[1:3]) for node in nodes}

    def running(self, name: str) -> bool:
        """All of its tasks."""
        row = self.client.workload(name)
        return row["state"] == "running" and row["active"] == row["replicas"]

    def queue(self, path: str) -> "QueueResource":
        row = next(row for row in self.client.queues()["queues"] if row["path"] == path)
        return row["resources"]["gpu"]

    def room(self, **resources: Any) -> int:
        """How many tasks of a shape fit."""
        return self.client.capacity({"name": "room", "resources": resources})["total"]

    def unusable(self) -> tuple[float, float, float]:
        """GPUs that are free, those of them that a typical task cannot use, and their share."""
        found = self.client.fragmentation()["cluster"]
        free, unusable = found["free_gpus"], found["unusable_gpus"]
        return free, unusable, unusable / free if free else 0.0

    def preempted(self, by: str) -> int:
        """How many tasks had to make room for a workload."""
        rows = self.client.event_page(kinds=["preempted"], newest=True, limit=1000)["items"]
        return sum(f"preempted by {by.rpartition('/')[2]} " in row["message"] for row in rows)

    def out_of_service(self) -> list[str]:
        """The nodes that the story broke."""
        return [row["name"] for row in self.client.nodes() if row["status"] != "online" and REASON in row["reason"]]
