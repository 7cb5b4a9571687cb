"""`AsyncClient`: the methods of `Client`, awaited.

Each method runs `Client`'s own in a thread, so that both have the same arguments, answers and errors. A call that is
cancelled is not undone: its thread ends it. `wait` sleeps in the event loop and keeps no thread meanwhile.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from time import monotonic
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, Self, TypeVar, cast

from dovetail.client.client import TIMEOUT_S, Client
from dovetail.client.following.waiting import Waiting

if TYPE_CHECKING:
    from dovetail.responses.workloads import WorkloadDetail

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 32


def awaited(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    """The method, run in a thread."""

    @wraps(method)
    async def call(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in_thread(partial(method, self._client, *args, **kwargs))

    return call


def iterated(
    method: Callable[Concatenate[Client, P], Iterator[T]],
) -> Callable[Concatenate["AsyncClient", P], AsyncIterator[T]]:
    """The method that yields one item after the other. A thread of its own reads the stream, so that endless streams
    leave the threads of other calls alone; it ends with the first item after the iteration was given up."""

    @wraps(method)
    async def call(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        loop, items, given_up = asyncio.get_running_loop(), asyncio.Queue[_Item[T]](), threading.Event()

        def read() -> None:
            with suppress(RuntimeError):  # the event loop is closed: nobody waits for more
                for item in _items(partial(method, self._client, *args, **kwargs)):
                    loop.call_soon_threadsafe(items.put_nowait, item)
                    if given_up.is_set():
                        return

        threading.Thread(target=read, name="dovetail-stream", daemon=True).start()
        try:
            while (item := await items.get()).error is None:
                yield cast("T", item.value)
            if not isinstance(item.error, StopIteration):
                raise item.error
        finally:
            given_up.set()

    return call


class _Item(NamedTuple, Generic[T]):
    """What a stream brought: a value, or the error that ended it; StopIteration is its usual end."""

    value: T | None = None
    error: Exception | None = None


def _items(stream: Callable[[], Iterator[T]]) -> Iterator[_Item[T]]:
    try:
        for value in stream():
            yield _Item(value)
        yield _Item(error=StopIteration())
    except Exception as error:
        yield _Item(error=error)


class AsyncClient:
    """Talks to one server. Use it with `async with`, or call `close`."""

    def __init__(self, url: str | None = None, token: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._client = Client(url, token, timeout_s)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="dovetail-client")

    @property
    def url(self) -> str:
        return self._client.url

    async def close(self) -> None:
        self._client.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def wait(
        self,
        *refs: str | int,
        namespace: str | None = None,
        timeout_s: float | None = None,
        told: "Callable[[WorkloadDetail], None] | None" = None,
    ) -> "list[WorkloadDetail]":
        """As `Client.wait`; questions about several workloads are asked at the same time."""
        waiting = Waiting(refs, timeout_s, monotonic())
        while True:
            rows = await asyncio.gather(*(self.workload(ref, namespace) for ref in waiting.left))
            if told is not None:
                for row in rows:
                    told(row)
            waiting.take(rows)
            if not waiting.left:
                return waiting.rows()
            await asyncio.sleep(waiting.pause_s(monotonic()))

    # services
    apply = awaited(Client.apply)
    services = awaited(Client.services)
    service_page = awaited(Client.service_page)
    service = awaited(Client.service)
    scale = awaited(Client.scale)
    undo_rollout = awaited(Client.undo_rollout)
    restart_service = awaited(Client.restart_service)
    remove_service = awaited(Client.remove_service)

    # workloads
    submit = awaited(Client.submit)
    submit_yaml = awaited(Client.submit_yaml)
    dry_run = awaited(Client.dry_run)
    workloads = awaited(Client.workloads)
    workload = awaited(Client.workload)
    tasks = awaited(Client.tasks)
    task_page = awaited(Client.task_page)
    attempts = awaited(Client.attempts)
    usage = awaited(Client.usage)
    decisions = awaited(Client.decisions)
    decision_page = awaited(Client.decision_page)
    history = awaited(Client.history)
    history_page = awaited(Client.history_page)
    event_page = awaited(Client.event_page)
    note = awaited(Client.note)
    cancel = awaited(Client.cancel)
    cancel_selected = awaited(Client.cancel_selected)
    retry = awaited(Client.retry)
    preempt = awaited(Client.preempt)
    execute = awaited(Client.execute)
    attach = awaited(Client.attach)
    exec_output = awaited(Client.exec_output)
    exec_input = awaited(Client.exec_input)
    resize_exec = awaited(Client.resize_exec)
    end_exec = awaited(Client.end_exec)
    logs = awaited(Client.logs)
    follow_logs = iterated(Client.follow_logs)

    # names
    named = awaited(Client.named)
    names = awaited(Client.names)

    # questions
    explain = awaited(Client.explain)
    why_not = awaited(Client.why_not)
    refusals = awaited(Client.refusals)
    plan = awaited(Client.plan)
    capacity = awaited(Client.capacity)
    fragmentation = awaited(Client.fragmentation)

    # nodes
    nodes = awaited(Client.nodes)
    node_page = awaited(Client.node_page)
    node = awaited(Client.node)
    register_node = awaited(Client.register_node)
    patch_node = awaited(Client.patch_node)
    remove_node = awaited(Client.remove_node)
    heartbeat = awaited(Client.heartbeat)
    orders = awaited(Client.orders)
    answer_call = awaited(Client.answer_call)
    report_probes = awaited(Client.report_probes)
    send_output = awaited(Client.send_output)
    session_input = awaited(Client.session_input)
    cordon = awaited(Client.cordon)
    uncordon = awaited(Client.uncordon)
    drain = awaited(Client.drain)
    fail = awaited(Client.fail)
    diagnostics = awaited(Client.diagnostics)
    node_tasks = awaited(Client.node_tasks)

    # discovery
    endpoints = awaited(Client.endpoints)
    endpoint_changes = awaited(Client.endpoint_changes)
    distances_from = awaited(Client.distances_from)
    prometheus_targets = awaited(Client.prometheus_targets)

    # queues
    queue = awaited(Client.queue)
    queue_page = awaited(Client.queue_page)
    queues = awaited(Client.queues)
    reserve = awaited(Client.reserve)
    reserve_ahead = awaited(Client.reserve_ahead)
    reservation = awaited(Client.reservation)
    reservations = awaited(Client.reservations)
    reservation_page = awaited(Client.reservation_page)
    release = awaited(Client.release)

    # network
    topology = awaited(Client.topology)
    set_topology = awaited(Client.set_topology)
    forget_topology = awaited(Client.forget_topology)
    domains = awaited(Client.domains)
    distance = awaited(Client.distance)
    traffic = awaited(Client.traffic)
    rebalancing = awaited(Client.rebalancing)
    rebalance = awaited(Client.rebalance)
    measured_distances = awaited(Client.measured_distances)
    distance_trends = awaited(Client.distance_trends)
    discovered_topology = awaited(Client.discovered_topology)
    distances = awaited(Client.distances)
    distance_matrix = awaited(Client.distance_matrix)
    distances_csv = awaited(Client.distances_csv)
    set_distances = awaited(Client.set_distances)
    clear_distances = awaited(Client.clear_distances)

    # policies
    policies = awaited(Client.policies)
    policy_page = awaited(Client.policy_page)
    policy = awaited(Client.policy)
    set_policy = awaited(Client.set_policy)
    remove_policy = awaited(Client.remove_policy)
    policy_versions = awaited(Client.policy_versions)
    policy_version = awaited(Client.policy_version)
    attach_policy = awaited(Client.attach_policy)
    detach_policy = awaited(Client.detach_policy)
    policy_violations = awaited(Client.policy_violations)
    check_constraint = awaited(Client.check_constraint)
    service_affinities = awaited(Client.service_affinities)
    set_service_affinity = awaited(Client.set_service_affinity)
    set_service_antiaffinity = awaited(Client.set_service_antiaffinity)
    service_affinity = awaited(Client.service_affinity)
    service_antiaffinity = awaited(Client.service_antiaffinity)
    clear_service_affinity = awaited(Client.clear_service_affinity)
    clear_service_antiaffinity = awaited(Client.clear_service_antiaffinity)

    # cost
    costs = awaited(Client.costs)
    cost_report = awaited(Client.cost_report)
    cost_forecast = awaited(Client.cost_forecast)
    budgets = awaited(Client.budgets)
    set_budget = awaited(Client.set_budget)
    remove_budget = awaited(Client.remove_budget)

    # backends
    backends = awaited(Client.backends)
    backend_page = awaited(Client.backend_page)
    backend_kinds = awaited(Client.backend_kinds)
    backend = awaited(Client.backend)
    add_backend = awaited(Client.add_backend)
    remove_backend = awaited(Client.remove_backend)
    backend_history = awaited(Client.backend_history)
    # cloud
    cloud_prices = awaited(Client.cloud_prices)
    cloud_instances = awaited(Client.cloud_instances)
    reap = awaited(Client.reap)

    # VMs
    vms = awaited(Client.vms)
    vm_page = awaited(Client.vm_page)
    set_vm_power = awaited(Client.set_vm_power)
    migrate_vm = awaited(Client.migrate_vm)
    vm_migration = awaited(Client.vm_migration)
    vm_snapshots = awaited(Client.vm_snapshots)
    take_vm_snapshot = awaited(Client.take_vm_snapshot)
    revert_vm = awaited(Client.revert_vm)
    remove_vm_snapshot = awaited(Client.remove_vm_snapshot)
    adopt_vm = awaited(Client.adopt_vm)

    # metal
    metal_machines = awaited(Client.metal_machines)
    metal_machine = awaited(Client.metal_machine)
    metal_power = awaited(Client.metal_power)
    metal_boot_device = awaited(Client.metal_boot_device)
    metal_sensors = awaited(Client.metal_sensors)
    metal_savings = awaited(Client.metal_savings)

    # tokens
    rotate_admin_token = awaited(Client.rotate_admin_token)
    make_join_token = awaited(Client.make_join_token)
    join_tokens = awaited(Client.join_tokens)
    revoke_join_token = awaited(Client.revoke_join_token)
    make_node_token = awaited(Client.make_node_token)
    login_link = awaited(Client.login_link)
    browser_sessions = awaited(Client.browser_sessions)
    end_browser_session = awaited(Client.end_browser_session)

    # overview
    trends = awaited(Client.trends)
    attention = awaited(Client.attention)
    topology_map = awaited(Client.topology_map)
    recent_decisions = awaited(Client.recent_decisions)

    # system
    summary = awaited(Client.summary)
    profiles = awaited(Client.profiles)
    snapshot = awaited(Client.snapshot)
    what_if = awaited(Client.what_if)
    preview_profile = awaited(Client.preview_profile)
    recordings = awaited(Client.recordings)
    recording = awaited(Client.recording)
    events = iterated(Client.events)
    past_events = awaited(Client.past_events)
    health = awaited(Client.health)
    ready = awaited(Client.ready)
    metrics = awaited(Client.metrics)
