"""The questions that an assistant may ask, each a function of a client. None of them changes anything.

A docstring is what the assistant reads to choose a tool, a description what it reads to fill in a parameter.
Lists are cut to what a conversation can hold; each says how many there are, or how to go on.
"""

import time
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from dovetail.client import Client

Answer: TypeAlias = dict[str, Any]
WorkloadRef = Annotated[
    str, Field(description="NAMESPACE/NAME, NAME, NAME.REPLICA for one task, or the id.", min_length=1)
]
Limit = Annotated[int, Field(description="At most so many.", ge=1, le=200)]
_NODES_OF_A_FIT = 20


def cluster(client: Client) -> Answer:
    """The cluster at a glance: nodes by status, use of each resource, workloads by state, how many wait."""
    return {**client.summary()}


def explain(client: Client, workload: WorkloadRef) -> Answer:
    """Why a workload runs where it runs, or why it waits, when it will probably start, and what would help.

    `answer` is the whole answer in one sentence. `core`: requirements that no node satisfies together. `suggestions`:
    changes that were tried and would place it. `decision`: the funnel of filters and the scores of the best nodes.
    """
    return {**client.explain(workload)}


def why_not(
    client: Client,
    workload: WorkloadRef,
    node: Annotated[str, Field(description="The name of the node, as the tool nodes lists it.", min_length=1)],
) -> Answer:
    """Why a workload is not on a certain node: every filter that refuses the node, or how it ranks against the best."""
    return {**client.why_not(workload, node)}


def plan(
    client: Client,
    definition: Annotated[
        str,
        Field(
            description="Workloads as YAML, as in a file for dovetail submit. Example: "
            "'name: train\\nreplicas: 4\\nresources: {cpu: 8, memory: 64GiB, gpu: 8}\\ngang: {min: 4}'",
            min_length=1,
        ),
    ],
    tasks: Annotated[int | None, Field(description="Try at most so many tasks of each.", ge=1, le=1000)] = None,
) -> Answer:
    """Where workloads would go if they were submitted now, whom they would preempt, and what blocks them.

    Nothing is submitted. Each workload is tried by itself. `answer` says it in a sentence.
    """
    return {"plans": client.plan(definition.encode(), tasks=tasks)}


def queue(
    client: Client, limit: Limit = 20, offset: Annotated[int, Field(description="Skip so many.", ge=0)] = 0
) -> Answer:
    """Workloads that wait, in the order in which the scheduler tries them, with the reason and the predicted start.

    `total`: how many wait in all.
    """
    return {**client.queue_page(limit=limit, offset=offset)}


def queues(client: Client) -> Answer:
    """The tree of queues: what each uses, is guaranteed, may use at most and borrows; how fair it is to tenants."""
    return {**client.queues()}


def capacity(
    client: Client,
    cpu: Annotated[float | str | None, Field(description="Cores of one task: 2, 0.5 or 500m.")] = None,
    memory: Annotated[str | None, Field(description="Memory of one task: 512MiB or 64GiB.")] = None,
    gpu: Annotated[float | str | None, Field(description="GPUs of one task; a share of one such as 0.25.")] = None,
    disk: Annotated[str | None, Field(description="Disk of one task: 10GiB.")] = None,
) -> Answer:
    """How many more tasks of a shape fit now, and on which nodes. Give at least one resource."""
    asked = {"cpu": cpu, "memory": memory, "gpu": gpu, "disk": disk}
    resources = {name: str(amount) for name, amount in asked.items() if amount is not None}
    if not resources:
        raise ValueError("say what should fit: at least one of cpu, memory, gpu and disk")
    found = client.capacity({"name": "capacity", "resources": resources})
    best = sorted(found["by_node"], key=lambda one: -one["fits"])
    return {**found, "by_node": best[:_NODES_OF_A_FIT], "nodes_that_fit": len(best)}


def workloads(
    client: Client,
    state: Annotated[
        str | None, Field(description="pending, running, succeeded, failed, cancelled, …; else all.")
    ] = None,
    namespace: Annotated[str | None, Field(description="Only of this namespace.")] = None,
    user: Annotated[str | None, Field(description="Only of this user.")] = None,
    name: Annotated[str | None, Field(description="Only those whose name contains this.")] = None,
    unfinished: Annotated[bool, Field(description="Leave out what has ended.")] = False,
    limit: Limit = 20,
    cursor: Annotated[str | None, Field(description="Go on where the last answer ended: its cursor.")] = None,
) -> Answer:
    """Workloads, the newest first: state, tasks, times and a message. `cursor` is null when there are no more."""
    found = client.workloads(
        state=state, namespace=namespace, user=user, name=name, unfinished=unfinished, limit=limit, cursor=cursor
    )
    return {**found}


def nodes(
    client: Client,
    name: Annotated[str | None, Field(description="Only those whose name contains this.")] = None,
    status: Annotated[str | None, Field(description="online, cordoned, drained, quarantined or offline.")] = None,
    label: Annotated[str | None, Field(description="Only those with this label, as KEY=VALUE.")] = None,
    limit: Limit = 20,
) -> Answer:
    """Nodes with status, labels, load, and what is allocated of each resource; the busiest first. `total`: how many
    match."""
    key, _, value = (label or "").partition("=")
    found = [
        row
        for row in client.nodes()
        if (name or "") in row["name"]
        and (status is None or row["status"] == status)
        and (label is None or row["labels"].get(key) == value)
    ]
    found.sort(key=lambda row: (-row["load"], row["name"]))
    return {"items": found[:limit], "total": len(found)}


def events(
    client: Client,
    workload: Annotated[str | None, Field(description="Only of this workload.")] = None,
    node: Annotated[str | None, Field(description="Only of this node.")] = None,
    kinds: Annotated[list[str] | None, Field(description="Only of these kinds, such as failed, placed, node.")] = None,
    minutes: Annotated[float | None, Field(description="Only of the last so many minutes.", gt=0)] = None,
    limit: Limit = 20,
    before: Annotated[int | None, Field(description="Go on with older ones: the cursor of the last answer.")] = None,
) -> Answer:
    """What happened to workloads, nodes, policies and backends, the newest first."""
    since = None if minutes is None else time.time() - 60 * minutes
    found = client.event_page(
        newest=True, workload=workload, node=node, kinds=kinds or (), since=since, before=before, limit=limit
    )
    return {**found}


TOOLS: tuple[Callable[..., Answer], ...] = (
    cluster,
    explain,
    why_not,
    plan,
    queue,
    queues,
    capacity,
    workloads,
    nodes,
    events,
)
