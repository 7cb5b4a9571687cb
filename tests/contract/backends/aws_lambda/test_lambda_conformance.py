"""The Lambda backend keeps the contract over an emulator that runs functions for real.

Functions that record their results pass the whole suite, with a network that misbehaves. A plain function cannot be
found again after its answer was lost, nor be stopped: it passes the groups that ask for neither.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.backends.aws_lambda.rig import TABLE, behind
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.servers.ministack import Ministack

from dovetail.testing.lifecycle import Lifecycle
from dovetail.testing.lossy_proxy import LossyProxy
from dovetail.testing.races import Races

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("lambda")]


class TestLambdaWithRecords(BackendConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path, ministack: Ministack) -> Iterator[Subject]:
        with LossyProxy(ministack.url.removeprefix("http://")) as proxy:
            yield behind(proxy, tmp_path, {"name": "kept", "table": TABLE, "concurrency": 100})


class TestLambdaThatAnswers(Lifecycle, Races):
    @pytest.fixture
    def subject(self, tmp_path: Path, ministack: Ministack) -> Iterator[Subject]:
        """What is stopped runs on, so that nothing here may run for long."""
        with LossyProxy(ministack.url.removeprefix("http://")) as proxy:
            found = behind(proxy, tmp_path, {"name": "plain", "concurrency": 100})
            workload = found.workload
            yield replace(found, workload=lambda run_s, *rest: workload(min(run_s, 3.0), *rest), runs_now=None)
