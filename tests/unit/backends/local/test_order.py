"""What a supervisor is told of the time between SIGTERM and SIGKILL."""

from pathlib import Path
from typing import Any

import pytest

from dovetail.backends.contract import Assignment
from dovetail.backends.local.enforcement import Enforcement
from dovetail.backends.local.order import write_order
from dovetail.backends.local.supervisor import unpack
from dovetail.model.task import TaskId
from dovetail.model.workload import Workload


@pytest.mark.parametrize(("disruption", "grace_s"), [({}, "10.0"), ({"grace": "2m"}, "120.0"), ({"grace": 0}, "0.0")])
def test_the_grace_period_of_a_workload_counts_before_the_usual_one(disruption: dict[str, Any], grace_s: str) -> None:
    spec = Workload.model_validate({"name": "w", "run": {"command": ["true"]}, "disruption": disruption})
    order = write_order(Assignment("1.0.1", TaskId(1, 0), "here", spec), Path("/runs/1.0.1"), Enforcement("rlimit"), 10)
    assert unpack(order)["grace_s"] == [grace_s]
