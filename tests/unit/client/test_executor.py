"""Functions as tasks of a real server, on the local backend: what `concurrent.futures` promises holds."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, as_completed
from pathlib import Path

import pytest
from tests.open_folder import is_open, open_folder, python_is_open
from tests.patience import PATIENCE_S, wait_for
from tests.unit.api.server import serving
from tests.unit.client import calls

from dovetail.client import CallFailed, Client, ConnectError, DovetailError, DovetailExecutor
from dovetail.client.functions import remote_call
from dovetail.control.settings import Settings

pytestmark = pytest.mark.xdist_group("executor")

SMALL = {"cpu": "100m", "memory": "16MiB"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    backend = {"kind": "local", "capacity": {"cpu": 2}, "run_as": "server"}
    settings = {
        "data": str(tmp_path_factory.mktemp("data")),
        "logging": {"level": "error"},
        "backends": {"me": backend},
    }
    with serving(Settings.model_validate(settings)) as url, Client(url) as found:
        yield found


@pytest.fixture
def executor(client: Client, tmp_path: Path) -> Iterator[DovetailExecutor]:
    with DovetailExecutor(client, folder=tmp_path, resources=SMALL) as found:
        yield found
    assert list(tmp_path.glob("dovetail-calls-*")) == []


def test_map_gives_the_results_in_order(executor: DovetailExecutor) -> None:
    assert list(executor.map(calls.double, range(8))) == [0, 2, 4, 6, 8, 10, 12, 14]


def test_a_call_takes_keywords_and_runs_as_a_task(executor: DovetailExecutor) -> None:
    words = executor.submit(calls.keyword, "one", second="two")
    task = executor.submit(calls.where)
    assert {future.result() for future in as_completed([words])} == {"one two"}
    assert task.result()["DOVETAIL_WORKLOAD"].startswith("call-")


def test_users_of_tasks_may_answer_and_nobody_else_can_find_a_call(client: Client, tmp_path: Path) -> None:
    with DovetailExecutor(client, folder=tmp_path, resources=SMALL, run={"env": {"MARK": "kept"}}) as executor:
        asked = [executor.submit(os.getenv, name) for name in ("MARK", "DOVETAIL_CALL")]
        command = executor.submit(Path.read_text, Path("/proc/self/cmdline"))
        [folder] = tmp_path.glob("dovetail-calls-*")
        assert oct(folder.stat().st_mode)[-4:] == "0733"
        assert [one.result() for one in asked] == ["kept", None]
        assert folder.name not in command.result()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as other users")
@pytest.mark.skipif(
    not (python_is_open() and is_open(Path(remote_call.__file__))), reason="other users cannot reach our programs"
)
def test_a_call_that_is_tried_again_as_another_user_has_the_outcome_of_the_last_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_folder() as above:
        monkeypatch.chdir(above)
        folder = above / "shared"
        folder.mkdir()
        folder.chmod(remote_call.FOLDER_MODE)
        call = folder / "secret.call"
        remote_call.write_call(call, os.getuid, (), {})
        for user in (65533, 65534):
            command = [sys.executable, "-P", remote_call.__file__]
            subprocess.run(command, check=True, user=user, group=user, cwd="/", env={remote_call.VARIABLE: str(call)})
            outcome = remote_call.read_outcome(call)
            assert outcome is not None
            assert (outcome.value, outcome.error) == (user, None)
            call.with_suffix(".partial").touch(mode=0o600)  # as a try leaves it that is killed while it writes


def test_an_exception_is_raised_here_with_the_traceback_of_the_task(executor: DovetailExecutor) -> None:
    future = executor.submit(calls.broken, "nothing there")
    with pytest.raises(LookupError, match="nothing there") as raised:
        future.result()
    assert "in broken" in str(raised.value.__cause__)


def test_a_task_that_ends_without_an_outcome_says_why(executor: DovetailExecutor) -> None:
    with pytest.raises(CallFailed, match=r"(?s)failed: .*status 7.*so long"):
        executor.submit(calls.killed).result()


def test_what_cannot_be_pickled_is_an_error_of_its_future(executor: DovetailExecutor) -> None:
    with pytest.raises(RuntimeError, match="cannot be pickled"):
        executor.submit(calls.not_picklable).result()
    with pytest.raises(Exception, match="pickle"):
        executor.submit(lambda: None).result()


def test_retries_are_those_of_the_workload(client: Client, tmp_path: Path) -> None:
    with DovetailExecutor(client, folder=tmp_path, resources=SMALL, retries=1) as executor:
        assert executor.submit(calls.fails_once, str(tmp_path / "mark")).result() == "second attempt"


def test_a_call_that_has_not_begun_can_be_cancelled_and_one_that_runs_cannot(client: Client, tmp_path: Path) -> None:
    with DovetailExecutor(client, folder=tmp_path, resources={"cpu": 2}, name="whole") as executor:
        first = executor.submit(calls.until, str(tmp_path / "go"))
        wait_for(first.running)
        second = executor.submit(calls.double, 1)
        wait_for(lambda: len(client.workloads(name="whole", unfinished=True)["items"]) == 2)
        assert not first.cancel()
        assert second.cancel()
        with pytest.raises(CancelledError):
            second.result()
        wait_for(lambda: len(client.workloads(name="whole", state="cancelled")["items"]) == 1)
        (tmp_path / "go").touch()
        assert first.result() == "done"


def test_shutdown_refuses_new_calls_and_cancels_waiting_ones_if_told_to(client: Client, tmp_path: Path) -> None:
    executor = DovetailExecutor(client, folder=tmp_path, resources={"cpu": 2})
    running = executor.submit(calls.until, str(tmp_path / "go"))
    wait_for(running.running)
    waiting = executor.submit(calls.double, 1)
    executor.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(calls.double, 1)
    (tmp_path / "go").touch()
    executor.shutdown()
    assert running.result() == "done"


def test_a_refused_submission_is_the_error_of_its_futures(client: Client, tmp_path: Path) -> None:
    with DovetailExecutor(client, folder=tmp_path, resources={"cpu": "many"}) as executor:
        assert isinstance(executor.submit(calls.double, 1).exception(), DovetailError)
    with Client("http://127.0.0.1:1") as nobody, DovetailExecutor(nobody, folder=tmp_path) as executor:
        assert isinstance(executor.submit(calls.double, 1).exception(), ConnectError)


def test_functions_of_a_script_can_be_called(client: Client, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from dovetail.client import Client, DovetailExecutor\n"
        "class Point:\n"
        "    def __init__(self, x): self.x = x\n"
        "def moved(point): return Point(point.x + 1)\n"
        "if __name__ == '__main__':\n"
        f"    with Client({client.url!r}) as client, DovetailExecutor(client, resources={SMALL!r}) as executor:\n"
        "        print(executor.submit(moved, Point(1)).result().x)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("2\n", "")
