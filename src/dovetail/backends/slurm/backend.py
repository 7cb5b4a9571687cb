"""A Slurm cluster as a backend: what is Slurm's own of `dovetail.backends.batch.backend`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar

from dovetail.asyncio_tasks import cancel
from dovetail.backends.batch.backend import BatchBackend
from dovetail.backends.batch.bundling import SharedJob, array_of
from dovetail.backends.batch.description import Description
from dovetail.backends.batch.driver import JobDriver
from dovetail.backends.batch.run_folder import JobRunFolder
from dovetail.backends.contract import Assignment
from dovetail.backends.failure_rules import FailureRules
from dovetail.backends.slurm.driver import Driver, JobSubmission, SlurmReservation
from dovetail.backends.slurm.inventory import Survey, labels_by_node
from dovetail.backends.slurm.reasons import SUBMISSION_ERRORS
from dovetail.backends.slurm.request import element_of, job_of, refuse_what_cannot_run, refuse_what_takes_too_long
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.resources import Amounts
from dovetail.model.workloads.workload import Workload


class SlurmBackend(BatchBackend[JobSubmission]):
    """Implements `dovetail.backends.contract.Backend`."""

    system: ClassVar[str] = "Slurm"
    submission_errors: ClassVar[FailureRules] = SUBMISSION_ERRORS

    def __init__(self, name: str, settings: SlurmSettings, folder: Path) -> None:
        super().__init__(name, settings, folder)
        self._settings = settings
        self._driver: Driver | None = None
        self._places: dict[str, dict[str, str]] | None = None  # from the topology, which is asked for once
        self._reservations: list[SlurmReservation] = []

    def _open(self) -> tuple[JobDriver, Callable[[JobSubmission], Awaitable[int]]]:
        driver = self._driver = _driver(self._settings)
        self._places = None
        return driver, driver.submit

    async def _describe(self, held: Mapping[str, Amounts]) -> dict[str, Description]:
        assert self._driver is not None
        if self._places is None:
            self._places = labels_by_node(await self._driver.topology())
        asked = (
            asyncio.ensure_future(self._driver.nodes()),
            asyncio.ensure_future(self._driver.partitions()),
            asyncio.ensure_future(self._driver.reservations()),
        )
        try:
            nodes, partitions, reservations = await asyncio.gather(*asked)
        finally:  # if one fails or the caller is cancelled, the others end first
            await cancel(*asked)
        self._reservations = reservations
        survey = Survey(self._settings, self.name, time.time(), nodes, partitions, reservations, self._places, held)
        return await asyncio.to_thread(survey.describe)

    def _refuse_what_cannot_run(self, spec: Workload) -> None:
        refuse_what_cannot_run(spec)

    def _submission(self, assignment: Assignment, there: Description, run: JobRunFolder) -> JobSubmission:
        refuse_what_takes_too_long(assignment.spec, there, self._reservations, self._settings, time.time())
        return job_of(assignment, there, self._settings, run.path, self._names.alone(run.key))

    def _shared(
        self, assignment: Assignment, alone: JobSubmission, run: JobRunFolder
    ) -> SharedJob[JobSubmission] | None:
        """Only jobs for the same place are bundled: one partition if Slurm chooses the node, one node if not."""
        if assignment.spec.replicas <= 1:
            return None
        return array_of(element_of(assignment, alone, self._settings, run.path, self._names.together(run.key)))


def _driver(settings: SlurmSettings) -> Driver:
    if settings.url is not None:
        from dovetail.backends.slurm.rest import RestDriver

        return RestDriver(settings)
    from dovetail.backends.slurm.cli import CliDriver

    return CliDriver(settings)
