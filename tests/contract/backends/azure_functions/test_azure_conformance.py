"""The Azure Functions backend keeps the contract over a function app of the tests (`tests/servers/azure_app.py`): what
Azure publishes about its HTTP API, and not Azure itself.

Orchestrations pass the whole suite, with a network that misbehaves. An HTTP trigger that answers with its result cannot
be found again after that was lost, nor be stopped: it passes the groups that ask for neither.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.backends.azure_functions.rig import azure_subject
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.servers.azure_app import azure_app

from dovetail.testing.lifecycle import Lifecycle
from dovetail.testing.lossy_proxy import LossyProxy
from dovetail.testing.races import Races
from dovetail.testing.restart import Restart


class TestOrchestrations(BackendConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> Iterator[Subject]:
        with azure_app() as app, LossyProxy(app.url.removeprefix("http://")) as proxy:
            yield azure_subject(tmp_path, {"name": "run", "orchestrator": "RunCommand"}, proxy)


class TestTriggersThatAnswerLater(Lifecycle, Races, Restart):
    """202 and a status URL: all but what follows from a lost answer to the first request."""

    @pytest.fixture
    def subject(self, tmp_path: Path) -> Iterator[Subject]:
        with azure_app() as app, LossyProxy(app.url.removeprefix("http://")) as proxy:
            subject = azure_subject(tmp_path, {"name": "run", "path": "/api/start"}, proxy)
            app.url = f"http://{proxy.address}"  # the app gives its addresses as its caller knows it
            yield subject


class TestTriggersThatAnswer(Lifecycle, Races):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> Iterator[Subject]:
        """What is stopped runs on, so that nothing here may run for long."""
        with azure_app() as app, LossyProxy(app.url.removeprefix("http://")) as proxy:
            found = azure_subject(tmp_path, {"name": "run", "path": "/api/run"}, proxy)
            workload = found.workload
            yield replace(found, workload=lambda run_s, *rest: workload(min(run_s, 3.0), *rest), runs_now=None)
