"""Jobs with deadlines over an on-premise cluster and three clouds: instances from Philly's trace, and what they cost.

The production engine plays the jobs on a virtual clock (`dovetail.simulate`). Machines of the clouds are those of the
shipped table of list prices, on demand and spot; the simulated world launches them when work is bound to them, gives
them back when idle, and takes spot machines away at random. A machine is paid for from its launch until it is gone.
What on-premise nodes cost is the same for every policy, and is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.philly_trace import PhillyJob
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.engine.settings import EngineSettings, SchedulerSettings
from dovetail.model.command import Command
from dovetail.model.device import Gpus
from dovetail.model.event import Event, NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.workload import Workload
from dovetail.queueing.settings import BackfillSettings
from dovetail.simulate.price_tables import ListedMachine, list_prices
from dovetail.simulate.replay import Simulation

HOUR_S, DAY_S = 3600.0, 86400.0
CORES_A_GPU, MEMORY_GIB_A_GPU = 3, 12
GPUS_A_NODE = 8
SPARES = 6
FEW_OF = 3000
"""Machines of each type that are offered at any time: as many can be launched in one moment."""
SHORTEST_S, LONGEST_S = 300.0, DAY_S
#: How much later than its run time a job may end: soon, this afternoon, tomorrow morning. A third of the jobs each.
SLACKS_S = (0.5 * HOUR_S, 4 * HOUR_S, 16 * HOUR_S)


@dataclass(frozen=True, slots=True)
class MarketJob:
    name: str
    submit_s: float
    run_s: float
    gpus: int
    within_s: float


@dataclass(frozen=True, slots=True)
class MarketInstance:
    jobs: list[MarketJob]
    nodes: int  # on-premise, of eight GPUs


@dataclass(slots=True)
class Paid:
    """What a policy paid, by kind of machine, and how many jobs ended after their deadline."""

    usd: float = 0.0
    late: int = 0
    launched: int = 0
    spot_usd: float = 0.0
    own_share: float = 0.0  # of the GPU hours, on-premise
    ended: dict[str, float] = field(default_factory=dict)


def draw(
    trace: Sequence[PhillyJob], count: int, load: float, nodes: int, seed: int, grid_s: float = 1.0
) -> MarketInstance:
    """So many consecutive jobs of one node each, from somewhere in the trace, with deadlines by chance. They come as
    much faster or slower than they came as it takes for them to ask for `load` times the on-premise GPUs. All times
    are multiples of `grid_s`."""
    chance = Random(seed)
    usable = [job for job in trace if job.gpus <= GPUS_A_NODE and job.run_s >= SHORTEST_S]
    first = chance.randrange(len(usable) - count)
    taken = usable[first : first + count]
    asked = sum(min(job.run_s, LONGEST_S) * job.gpus for job in taken)
    span_s = asked / (GPUS_A_NODE * nodes * load)
    pace = span_s / max(taken[-1].submit_s - taken[0].submit_s, 1.0)
    return _instance(taken, pace, nodes, chance, grid_s)


def _instance(taken: Sequence[PhillyJob], pace: float, nodes: int, chance: Random, grid_s: float) -> MarketInstance:
    """`pace`: between two jobs passes so many times the time that passed."""
    jobs = []
    for number, job in enumerate(taken):
        run_s = max(1, round(min(job.run_s, LONGEST_S) / grid_s)) * grid_s
        submit_s = round((job.submit_s - taken[0].submit_s) * pace / grid_s) * grid_s
        within_s = max(2, round((run_s * 1.1 + chance.choice(SLACKS_S)) / grid_s)) * grid_s
        jobs.append(MarketJob(f"job-{number}", submit_s, run_s, job.gpus, within_s))
    return MarketInstance(jobs, nodes)


def draw_few(trace: Sequence[PhillyJob], load: float, nodes: int, seed: int, grid_s: float) -> MarketInstance:
    """Some jobs of a few days, as they came: as many as it takes to ask for `load` times the on-premise GPUs, as fewer
    users would send them."""
    chance = Random(seed)
    usable = [job for job in trace if job.gpus <= GPUS_A_NODE and job.run_s >= SHORTEST_S]
    first = chance.randrange(len(usable) - FEW_OF)
    window = usable[first : first + FEW_OF]
    wanted = load * nodes * GPUS_A_NODE * max(window[-1].submit_s - window[0].submit_s, DAY_S)
    taken: list[PhillyJob] = []
    for job in chance.sample(window, len(window)):
        if wanted <= 0:
            break
        taken.append(job)
        wanted -= min(job.run_s, LONGEST_S) * job.gpus
    return _instance(sorted(taken), 1.0, nodes, chance, grid_s)


def own_nodes(count: int) -> list[Node]:
    capacity = Capacity(cpu=64, memory=512 * 2**30, disk=2**40, gpu=GPUS_A_NODE)
    gpus = [Gpus(count=GPUS_A_NODE, model="A100")]
    return [Node(name=f"own-{number}", backend="own", capacity=capacity, gpus=gpus) for number in range(count)]


def cloud_nodes(spot: bool, spares: int = SPARES) -> list[Node]:
    """Machines with GPUs, on demand and, if wanted, spot; of equal ones in different zones, those of one zone."""
    found, seen = [], set[tuple[str, str]]()
    for one in list_prices():
        if one.gpu and (one.provider, one.type) not in seen:
            seen.add((one.provider, one.type))
            for number in range(spares):
                found.append(one.node(f"{_named(one)}-od-{number}", spot=False))
                if spot:
                    found.append(one.node(f"{_named(one)}-spot-{number}", spot=True))
    return found


def _named(one: ListedMachine) -> str:
    return f"{one.provider}-{one.type}".lower().replace("_", "-").replace("+", "-").replace(".", "-")


def workload(job: MarketJob, waits: bool) -> Workload:
    resources = {"cpu": CORES_A_GPU * job.gpus, "memory": f"{MEMORY_GIB_A_GPU * job.gpus}GiB", "gpu": job.gpus}
    deadline = {"run_for": f"{job.run_s:.0f}s"} | ({"finish_within": f"{job.within_s:.0f}s"} if waits else {})
    return Workload.model_validate(
        {
            "name": job.name,
            "resources": resources,
            "deadline": deadline,
            "prefer": "cheapest" if waits else "local-first",
            "retries": 20,
            "run": {"simulate": {"run_time": f"{job.run_s:.3f}s"}},
        }
    )


def settings(order: str, backfill: str = "easy", preempt: str = "savings", timetable: bool = True) -> EngineSettings:
    scheduler = SchedulerSettings(order=order, backfill=BackfillSettings(mode=backfill))
    return EngineSettings.model_validate(
        {
            "schedulers": {"default": scheduler},
            "market": {"margin": "30s", "preempt": preempt, "timetable": timetable},
            "default_profile": "gpu_packing",
        }
    )


def play(
    instance: MarketInstance,
    waits: bool,
    spot: bool,
    order: str,
    seed: int = 0,
    backfill: str = "easy",
    preempt: str = "savings",
    timetable: bool = True,
) -> Paid:
    """`waits`: jobs have their deadlines and wait for cheap nodes; else they go to the clouds when nothing is free."""
    paid = Paid()
    launched: dict[str, tuple[float, float, bool]] = {}
    nodes = [*own_nodes(instance.nodes), *cloud_nodes(spot)]

    def watch(now: float, event: Event, commands: list[Command]) -> None:  # noqa: ARG001
        if isinstance(event, NodeJoined) and (offer := event.node.offer) is not None and offer.running:
            launched[event.node.name] = (now, offer.price_per_hour, offer.spot)
        elif isinstance(event, NodeLeft) and event.name in launched:
            since, price, spot = launched.pop(event.name)
            bill = price * (now - since) / HOUR_S
            paid.usd += bill
            paid.spot_usd += bill if spot else 0.0
            paid.launched += 1

    world = SimulatedSettings(groups=[NodeGroup(prefix="unused", count=1)], seed=seed)
    arrivals: Iterator[tuple[float, Workload]] = ((job.submit_s, workload(job, waits)) for job in instance.jobs)
    chosen = settings(order, backfill, preempt, timetable)
    simulation = Simulation(chosen, world, arrivals, nodes=nodes, watch=watch, seed=seed)
    simulation.run()
    ends = {life.name: life.finished_at for life in simulation.ledger.lives.values()}
    for job in instance.jobs:
        end = ends[job.name]
        paid.late += end is None or end > job.submit_s + job.within_s + 1e-6
    return paid
