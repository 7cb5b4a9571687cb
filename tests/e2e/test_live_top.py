"""`dovetail top` on a terminal: what its keys do, a server that comes back, and the terminal afterwards."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_cli import DOVETAIL, clean
from tests.patience import wait_for
from tests.servers.screen_process import ScreenProcess

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("live-top")]

DOWN, UP, ESCAPE, ENTER = "\x1b[B", "\x1b[A", "\x1b", "\r"
OTHER_SCREEN, FIRST_SCREEN, CURSOR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"
SETTINGS = {
    "logging": {"level": "error"},
    "backends": {
        "sim": {
            "kind": "simulated",
            "forever": True,
            "groups": [{"prefix": "node", "count": 4, "capacity": {"cpu": 8, "memory": "32GB", "gpu": 2}}],
        }
    },
    "scheduling": {"queues": {"ml": {"weight": 2}, "ops": {}}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("live"), SETTINGS) as found:
        with Client(found.url) as client:
            client.submit({"name": "alpha", "queue": "ml", "replicas": 3, "resources": {"cpu": 1, "gpu": 1}})
            client.submit({"name": "beta", "queue": "ops", "user": "ada", "resources": {"cpu": 1}})
            client.submit({"name": "greedy", "queue": "ml", "resources": {"cpu": 99}})
            wait_for(lambda: client.workload("beta")["state"] == "running" and client.workload("greedy")["reason"])
        yield found


def on_a_screen(server: ServerProcess, columns: int = 80, lines: int = 24, **env: str) -> ScreenProcess:
    command = [*DOVETAIL, "top", "--interval", "0.2"]
    return ScreenProcess(command, {**clean(server.url), "TERM": "xterm", **env}, columns, lines)


def selected(top: ScreenProcess) -> str:
    """Empty while a frame is being drawn."""
    return top.line_with("▸ ")


def test_keys_do_what_the_help_says(server: ServerProcess) -> None:
    with on_a_screen(server) as top:
        shown = top.until("4 nodes: 4 online", "gpu", "3 of 8", "alpha", "beta", "greedy", "? help")
        assert all(len(line) <= 80 for line in shown.splitlines())
        wait_for(lambda: "greedy" in selected(top), "the newest is selected first")
        top.press(DOWN)
        top.until("▸")
        wait_for(lambda: "beta" in selected(top))
        top.press("k")
        wait_for(lambda: "greedy" in selected(top))
        top.until("AGE▼")
        top.press("s")
        top.until("RAN▼")
        top.press("<<<<")  # back to the age, and on to the name
        top.until("NAME▼")
        wait_for(lambda: shown_order(top) == ["alpha", "beta", "greedy"])
        wait_for(lambda: "greedy" in selected(top), "the selection stays with its row")
        top.press("r")
        top.until("NAME▲")
        wait_for(lambda: shown_order(top) == ["greedy", "beta", "alpha"])
        top.press("/bet")
        top.until("filter: bet", gone=("alpha",))
        top.press(ENTER)
        top.until("filter: bet", "? help", "1 of 3")
        top.press(ESCAPE)
        top.until("alpha", gone=("filter:",))
        top.press("?")
        top.until("sort by the next or the previous column", gone=("alpha",))
        top.press("q")
        top.until("alpha", "? help")
        top.press("q")
        assert top.process.wait(20) == 0


def shown_order(top: ScreenProcess) -> list[str]:
    words = [line.split() for line in top.text().splitlines()]
    return [name for line in words for name in ("alpha", "beta", "greedy") if name in line]


def test_the_views_and_the_explanation_of_the_selected_workload(server: ServerProcess) -> None:
    with on_a_screen(server) as top:
        top.until("greedy", ">w workloads<")
        top.press("p")
        top.until(">p pending<", "greedy", "WAITED", gone=("alpha",))
        top.press(ENTER)
        top.until("cpu short", "q back")
        top.press(ESCAPE)
        top.until(">p pending<")
        top.press("n")
        top.until("node-4", "STATUS", gone=("greedy",))
        top.press("\x1b[F")  # End
        wait_for(lambda: "▸" in top.text())
        top.press(ENTER)
        top.until("node-", "q back")
        top.press("q")
        top.until("STATUS")
        top.press("u")
        top.until("WEIGHT", "ops")
        top.press("j")
        top.press("j")
        wait_for(lambda: "ops" in selected(top))
        top.press(ENTER)  # the work of that queue
        top.until("beta", "filter: queue:ops", gone=("alpha",))


def test_what_happens_is_shown_without_a_key(server: ServerProcess) -> None:
    with on_a_screen(server) as top, Client(server.url) as client:
        top.until("greedy")
        client.submit({"name": "just-now", "resources": {"cpu": 1}})
        top.until("just-now", "running")
        client.cancel("just-now")
        top.until("greedy", gone=("just-now",))
        top.press("a")
        top.until("just-now", "cancelled")


def test_it_survives_a_server_that_is_killed_and_started_again(server: ServerProcess) -> None:
    with on_a_screen(server) as top:
        top.until("alpha", "live")
        server.kill()
        top.until("connection lost", "trying again", "alpha")
        top.press("s")  # it goes on taking keys meanwhile
        top.until("RAN▼")
        server.start()
        top.until("alpha", "live", gone=("connection lost",))
        with Client(server.url) as client:
            client.submit({"name": "after", "resources": {"cpu": 1}})
            top.until("after")
            client.cancel("after")


@pytest.mark.parametrize("size", [(80, 24), (132, 43), (40, 10)])
def test_it_follows_the_size_of_the_terminal(server: ServerProcess, size: tuple[int, int]) -> None:
    with on_a_screen(server, 100, 30) as top:
        top.until("alpha", "? help")
        top.resize(*size)
        wait_for(lambda: "▸" in top.text() and "? help" in top.text().split("\n")[size[1] - 1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_terminal_is_as_it_was_whatever_ends_it(server: ServerProcess, number: signal.Signals) -> None:
    with on_a_screen(server) as top:
        top.until("alpha")
        assert top.settings() != top.before
        top.process.send_signal(number)
        assert top.process.wait(20) == 128 + number
        assert top.settings() == top.before
        wait_for(lambda: top.raw.rstrip().endswith(FIRST_SCREEN))
        assert OTHER_SCREEN in top.raw
        assert CURSOR in top.raw
        assert b"Traceback" not in top.raw


def test_without_colours_the_selection_has_a_sign(server: ServerProcess) -> None:
    with on_a_screen(server, NO_COLOR="1") as top:
        top.until("▸ ", "alpha")
        assert b"\x1b[7m" not in top.raw
        assert b"\x1b[3" not in top.raw


def test_a_server_that_is_not_there_is_said_on_the_plain_screen(tmp_path: Path) -> None:
    with ScreenProcess([*DOVETAIL, "--url", "http://127.0.0.1:9", "top"], {**clean(), "TERM": "xterm"}) as top:
        assert top.process.wait(30) == 3
        wait_for(lambda: "cannot reach http://127.0.0.1:9" in top.text())
        assert OTHER_SCREEN not in top.raw
