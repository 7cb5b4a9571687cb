"""A PBS complex as a backend: what is PBS's own of `dovetail.backends.batch.backend`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar

from dovetail.backends.batch.backend import BatchBackend
from dovetail.backends.batch.bundling import SharedJob, array_of, in_ranges
from dovetail.backends.batch.description import Description
from dovetail.backends.batch.driver import JobDriver
from dovetail.backends.batch.run_folder import JobRunFolder
from dovetail.backends.contract import Assignment
from dovetail.backends.failure_rules import FailureRules
from dovetail.backends.pbs.dialect import Dialect, PbsNode, PbsSubmission
from dovetail.backends.pbs.driver import PbsDriver
from dovetail.backends.pbs.inventory import describe
from dovetail.backends.pbs.reasons import SUBMISSION_ERRORS
from dovetail.backends.pbs.request import (
    element_of,
    gang_job,
    job_of,
    refuse_what_cannot_run,
    refuse_what_is_too_large,
    refuse_what_takes_too_long,
)
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.model.resources import Amounts
from dovetail.model.workloads.workload import Workload

FRESH_S = 1.0


class PbsBackend(BatchBackend[PbsSubmission]):
    """Implements `dovetail.backends.contract.Backend`."""

    system: ClassVar[str] = "PBS"
    submission_errors: ClassVar[FailureRules] = SUBMISSION_ERRORS

    def __init__(self, name: str, settings: PbsSettings, folder: Path) -> None:
        super().__init__(name, settings, folder)
        self._settings = settings
        self._driver: PbsDriver | None = None
        self._dialect: Dialect | None = None
        self._nodes: dict[str, PbsNode] = {}  # by their names in PBS
        self._seen_at_s = float("-inf")

    def _open(self) -> tuple[JobDriver, Callable[[PbsSubmission], Awaitable[int]]]:
        driver = self._driver = PbsDriver(self._settings)
        return driver, driver.submit

    async def _describe(self, held: Mapping[str, Amounts]) -> dict[str, Description]:
        assert self._driver is not None
        self._dialect = await self._driver.dialect()
        nodes, queues = await self._driver.nodes(), await self._driver.queues()
        found = await asyncio.to_thread(describe, self._settings, self.name, nodes, queues, held)
        self._nodes = {node.name: node for node in nodes}
        self._seen_at_s = time.monotonic()
        return found

    async def _recent_look(self) -> dict[str, Description]:
        """PBS does not say that a queued job's node is down, so nodes are asked for with every job: once a second."""
        return self._known if time.monotonic() < self._seen_at_s + FRESH_S else await self._look()

    def _refuse_what_cannot_run(self, spec: Workload) -> None:
        refuse_what_cannot_run(spec)

    def _submission(self, assignment: Assignment, there: Description, run: JobRunFolder) -> PbsSubmission:
        refuse_what_is_too_large(assignment.spec, self._nodes[there.own_name])
        refuse_what_takes_too_long(assignment.spec, there)
        return job_of(assignment, there, self._settings, run.path, self._names.alone(run.key))

    def _shared(
        self, assignment: Assignment, alone: PbsSubmission, run: JobRunFolder
    ) -> SharedJob[PbsSubmission] | None:
        """A gang becomes one job. Replicas for one node become an array: all its elements have one `select`."""
        assert self._dialect is not None
        gang, settings = assignment.gang, self._settings
        if gang is not None and gang.tasks > 1 and settings.gang_jobs and self._dialect.has_gang_jobs:
            name = self._names.alone(f"{gang.id}.gang")
            return SharedJob(
                gang.id, lambda members: gang_job(members, self._folder, settings, gang.id, name), size=gang.tasks
            )
        if assignment.spec.replicas <= 1 or not self._dialect.has_arrays:
            return None
        there, name = self._known[assignment.node], self._names.together(run.key)
        return array_of(element_of(assignment, alone, there, settings, run.path, name), in_ranges)
