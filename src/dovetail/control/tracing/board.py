"""Where the server and the subsystem meet: which trace each workload belongs to, and what tasks are told of it.

The server notes new workloads before their first command is sent, so that a task knows its trace however soon it
starts. Safe for several threads: each entry is set once and removed once.
"""

from collections.abc import Iterable

from dovetail.control.tracing.identity import TraceIdentity, identified
from dovetail.control.tracing.settings import TracingSettings
from dovetail.model.record import NewWorkload
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.store.subsystem_tables import SubsystemTables

TRACEPARENT = "TRACEPARENT"


class TraceBoard:
    def __init__(self, _: SubsystemTables | None) -> None:
        self._settings: TracingSettings | None = None
        self._identities: dict[int, TraceIdentity] = {}

    def attach(self, settings: TracingSettings) -> None:
        import opentelemetry.trace.propagation.tracecontext  # noqa: F401 - now, not while the first request waits

        self._settings = settings

    def note(self, submitted: Iterable[NewWorkload]) -> None:
        """New workloads, as a step accepted them."""
        if self._settings is None:
            return
        for new in submitted:
            found = identified(new.trace, self._settings.sample)
            if found is not None:
                self._identities[new.id] = found

    def identity(self, workload: int) -> TraceIdentity | None:
        """None: it is not traced, or nobody knows any more."""
        return self._identities.get(workload)

    def remember(self, workload: int, identity: TraceIdentity) -> None:
        """After a restart, from what was written down."""
        self._identities.setdefault(workload, identity)

    def forget(self, workload: int) -> None:
        self._identities.pop(workload, None)

    def told(self, spec: Workload, task: TaskId) -> Workload:
        """The definition with which a task is started: a program that knows OpenTelemetry continues the trace."""
        identity = self._identities.get(task.workload)
        settings = self._settings
        if identity is None or settings is None or not settings.environment or TRACEPARENT in spec.run.env:
            return spec
        span = identity.span(task.workload, "task", task.replica)
        run = spec.run.model_copy(update={"env": {**spec.run.env, TRACEPARENT: identity.traceparent(span)}})
        return spec.model_copy(update={"run": run})
