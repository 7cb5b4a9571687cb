"""Jobs of Slurm's queue with what they ask for: all users' jobs, for a copy of the cluster's state.

The backend itself never needs this: of jobs of others it only counts what they hold.
"""

import re
import time
from dataclasses import dataclass, replace

from dovetail.backends.slurm.cli import CliDriver
from dovetail.backends.slurm.cli_reading import minutes, moment, words_of
from dovetail.backends.slurm.driver import SlurmNode
from dovetail.backends.slurm.gres import counted
from dovetail.backends.slurm.inventory import Survey, labels_by_node
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.node import Node
from dovetail.model.text.hostlist import expanded

BACKEND = "slurm"
_UNITS = {"": 2**20, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)")
_WAITING, _RUNNING = frozenset({"PENDING", "REQUEUED"}), frozenset({"RUNNING", "COMPLETING", "SUSPENDED"})


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """Amounts are of the whole job. `hosts`: where it runs; none: it waits."""

    id: int
    name: str
    user: str
    partition: str
    nodes: int
    cpus: int
    memory_bytes: int
    gpus: int
    limit_s: float | None
    submitted_s: float
    started_s: float
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlurmState:
    """`nodes`: with all they have, whoever uses it, and why they take no work, if so."""

    nodes: list[tuple[Node, str]]
    jobs: list[QueuedJob]
    places: dict[str, str]  # Slurm's name of a node to ours


async def slurm_state(settings: SlurmSettings) -> SlurmState:
    """By Slurm's own commands. Raises SlurmFault."""
    driver = CliDriver(settings)
    nodes, partitions = await driver.nodes(), await driver.partitions()
    lines = await driver.lines("jobs")
    survey = Survey(
        settings=settings,
        backend=BACKEND,
        now=time.time(),
        nodes=[_unused(node) for node in nodes],
        partitions=partitions,
        reservations=await driver.reservations(),
        places=labels_by_node(await driver.topology()),
    )
    described = survey.describe().values()
    jobs = [job for line in lines if line.startswith("JobId=") and (job := read_queued(line)) is not None]
    return SlurmState(
        [(one.node, one.silent or one.closed) for one in described],
        jobs,
        {one.node.labels.get("hostname", one.node.name): one.node.name for one in described},
    )


def _unused(node: SlurmNode) -> SlurmNode:
    return replace(node, allocated_cpus=0, allocated_memory_mib=0, gres_used="")


def read_queued(line: str) -> QueuedJob | None:
    """None for a job that has ended."""
    said = words_of(line)
    state = said.get("JobState", "").upper()
    if state not in _WAITING | _RUNNING:
        return None
    tres = dict(part.partition("=")[::2] for part in said.get("TRES", said.get("ReqTRES", "")).split(","))
    gres = [part for part in said.get("TresPerNode", "").split(",") if part]
    nodes = int(said.get("NumNodes", "1").split("-")[0] or 1)
    gpus = sum(int(count) for name, count in tres.items() if name == "gres/gpu" and count.isdigit())
    if not gpus and gres:
        gpus = nodes * sum(number for (kind, _), number in counted(",".join(gres)).items() if kind == "gpu")
    limit = minutes(said.get("TimeLimit", ""))
    running = state in _RUNNING
    return QueuedJob(
        id=int(said["JobId"]),
        name=said.get("JobName", "job"),
        user=said.get("UserId", "").partition("(")[0],
        partition=said.get("Partition", "").split(",")[0],
        nodes=max(1, nodes),
        cpus=int(said.get("NumCPUs", "1").split("-")[0] or 1),
        memory_bytes=_bytes(tres.get("mem", "")),
        gpus=gpus,
        limit_s=None if limit is None else limit * 60.0,
        submitted_s=moment(said.get("SubmitTime", "")),
        started_s=moment(said.get("StartTime", "")) if running else 0.0,
        hosts=tuple(expanded(said.get("NodeList", ""))) if running and said.get("NodeList") else (),
    )


def _bytes(text: str) -> int:
    found = _AMOUNT.fullmatch(text)
    return 0 if found is None else int(float(found[1]) * _UNITS[found[2]])
