"""What every backend must do, as tests that any backend can inherit.

A backend's test module makes a `Subject` for its backend, returns it from the fixture `subject`, and inherits:

    class TestMyBackend(BackendConformance):
        @pytest.fixture
        def subject(self, tmp_path: Path) -> Subject:
            return Subject(backend_factory=lambda: MyBackend(...), workload=..., unrunnable=...)

The tests run against the real backend and wait for its reports; they do not check how long that takes. A backend that
is not complete yet can inherit the groups of tests one by one.
"""

from dovetail.testing.lifecycle import Lifecycle
from dovetail.testing.races import Races
from dovetail.testing.restart import Restart
from dovetail.testing.rig import LONG_S, PATIENCE_S, CollectedReports, Rig, Subject, run_async, started
from dovetail.testing.trouble import Trouble
from dovetail.testing.truth import Truth

__all__ = ["LONG_S", "PATIENCE_S", "BackendConformance", "CollectedReports", "Rig", "Subject", "run_async", "started"]


class BackendConformance(Lifecycle, Restart, Truth, Races, Trouble):
    """Inherit it and define the fixture `subject`."""
