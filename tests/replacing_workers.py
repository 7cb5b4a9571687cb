"""How tests are given to workers: a worker that ends amid a test is replaced, and the rest of its tests is run."""

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController


class ReplacingScheduling(LoadGroupScheduling):  # type: ignore[misc]
    """That of pytest-xdist 3.8 gives the replacement of a worker what is done already, the test that ended the worker
    or a single test, and then waits for ever (pytest-xdist issues 1323, 1327 and 1378)."""

    def remove_node(self, node: WorkerController) -> str | None:
        scopes = self.assigned_work.pop(node).items()
        left = {scope: {test: False for test, done in tests.items() if not done} for scope, tests in scopes}
        ended_by: str | None = next((test for tests in left.values() for test in tests), None)
        if ended_by is None:
            return None
        for scope, tests in left.items():
            tests.pop(ended_by, None)
            if tests:
                self.workqueue[scope] = tests
        for other in self.nodes:
            self._reschedule(other)
        return ended_by

    def schedule(self) -> None:
        super().schedule()
        for node in self.nodes:  # a worker begins a test when it knows whether another follows
            self._reschedule(node)
