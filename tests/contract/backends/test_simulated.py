"""The simulated backend keeps the promises of every backend, in one process and across two."""

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject

from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.model.workload import Rehearsal, Run, Workload


def _backend() -> SimulatedBackend:
    return SimulatedBackend("sim", SimulatedSettings(groups=[NodeGroup(count=2)]))


def _workload(run_s: float, exit_code: int, _text: str) -> Workload:
    return Workload(name="rehearsed", run=Run(simulate=Rehearsal(run_time=run_s, exit_code=exit_code)))


class TestSimulatedBackendInANewProcess(BackendConformance):
    """A restart finds an empty world and takes everything it is told of to be running; logs are made up."""

    @pytest.fixture
    def subject(self) -> Subject:
        return Subject(_backend, _workload, knows_lost_attempts=False, captures_output=False)


class TestSimulatedBackendClosedAndStartedAgain(BackendConformance):
    """The same object again: its world has gone on meanwhile."""

    @pytest.fixture
    def subject(self) -> Subject:
        backend = _backend()
        return Subject(lambda: backend, _workload, knows_lost_attempts=False, captures_output=False)
