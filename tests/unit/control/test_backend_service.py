"""Backends added, changed and removed while the server runs, over a real store, with a kind that has secrets."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from tests.patience import until
from tests.unit.control.secretive import ENTRY, PASSWORD, TOKEN, Secretive, offer
from tests.unit.control.test_plane import backend_of, scene, settings, work

from dovetail.backends import registry
from dovetail.backends.registry import BackendEntry
from dovetail.control.errors import Conflict, NotFound
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.control.settings.secret_box import FILE

FAR = {"allow": ["far"]}
Play = Callable[[ControlPlane], Awaitable[None]]


@pytest.fixture(autouse=True)
def _kind(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch)
    monkeypatch.delenv("DOVETAIL_SECRET_KEY", raising=False)


def entry(**changes: object) -> BackendEntry:
    return BackendEntry.model_validate({**ENTRY, **changes})


def state_of(plane: ControlPlane, name: str) -> str:
    return plane.backends.get(name).member.state


def play_in_turn(folder: Path, *plays: Play) -> None:
    for play in plays:
        scene(settings(folder), play)


async def adding(plane: ControlPlane) -> None:
    assert await plane.backends.add("far", entry(), replace=False)


async def running_there(plane: ControlPlane) -> None:
    await plane.submit([work("w", backends=FAR)])
    await until(lambda: plane.store.counts()["running"] == 1, "it runs on the added backend")


def test_an_added_backend_runs_work_and_is_there_after_a_restart(tmp_path: Path) -> None:
    async def before(plane: ControlPlane) -> None:
        await adding(plane)
        await until(lambda: plane.backends.get("far").nodes == 2, "its nodes come")
        await running_there(plane)

    async def after(plane: ControlPlane) -> None:
        standing = plane.backends.get("far")
        assert (standing.nodes, standing.tasks) == (2, 1)
        await until(lambda: state_of(plane, "far") == "closed", "it is taken up again")
        backend = backend_of(plane, "far")
        assert isinstance(backend, Secretive)
        assert backend.key == TOKEN

    play_in_turn(tmp_path, before, after)


def test_no_file_of_the_server_holds_a_secret(tmp_path: Path) -> None:
    play_in_turn(tmp_path, adding, running_there)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"dovetail.db", FILE} <= {path.name for path in files}
    for path in files:
        for secret in (TOKEN, PASSWORD):
            assert secret.encode() not in path.read_bytes(), f"{path} holds a secret"
    assert b"$sealed" in b"".join(path.read_bytes() for path in files if path.name.startswith("dovetail.db"))


def test_no_log_line_and_no_error_holds_a_secret(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def play(plane: ControlPlane) -> None:
        await adding(plane)
        await until(lambda: plane.backends.get("far").nodes == 2, "its nodes come")
        backend = backend_of(plane, "far")
        assert isinstance(backend, Secretive)
        backend.fails = True
        await plane.submit([work(f"w{i}", backends=FAR) for i in range(4)])
        await until(lambda: plane.backends.get("far").member.executor.health.errors >= 3, "it fails")  # type: ignore[union-attr]
        health = plane.backends.get("far").member.executor.health  # type: ignore[union-attr]
        assert "key=•••" in health.last_error

    scene(settings(tmp_path), play)
    said = "".join(capfd.readouterr())
    assert "backend call failed" in said
    assert TOKEN not in said


def test_settings_can_be_changed_while_work_runs_there(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await adding(plane)
        await until(lambda: plane.backends.get("far").nodes == 2, "its nodes come")
        await running_there(plane)
        with pytest.raises(Conflict, match="there is a backend 'far' already"):
            await plane.backends.add("far", entry(key="another"), replace=False)
        assert not await plane.backends.add("far", entry(key="another-token"), replace=True)
        backend = backend_of(plane, "far")
        assert isinstance(backend, Secretive)
        assert backend.key == "another-token"
        await until(lambda: state_of(plane, "far") == "closed", "it is taken up again")
        assert plane.backends.get("far").tasks == 1
        assert plane.store.counts()["running"] == 1
        other = BackendEntry.of("simulated", groups=[{"count": 1}])
        with pytest.raises(Conflict, match="is of kind secretive; remove it and add one of kind simulated"):
            await plane.backends.add("far", other, replace=True)

    scene(settings(tmp_path), play)


def test_one_with_tasks_is_not_removed_unless_by_force_and_then_its_work_goes_elsewhere(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await adding(plane)
        await until(lambda: plane.backends.get("far").nodes == 2, "its nodes come")
        await plane.submit([work("w", backends={"allow": ["far", "sim"]})])
        await plane.submit([work("stays", backends=FAR)])
        await until(lambda: plane.store.counts()["running"] == 2, "both run")
        far = backend_of(plane, "far")
        with pytest.raises(Conflict, match=r"backend 'far' has [12] tasks?; drain its nodes"):
            await plane.backends.remove("far", force=False)
        assert state_of(plane, "far") == "closed"
        removal = await plane.backends.remove("far", force=True)
        assert (removal.nodes, removal.unconfirmed) == (2, 0)
        assert far is not None
        assert (await far.status("2.0.1")).phase == "ended"
        with pytest.raises(NotFound, match="no backend 'far'"):
            plane.backends.get("far")
        assert not [name for name in plane.engine._state.cluster.rows if name.startswith("far")]
        await until(lambda: plane.store.counts()["pending"] == 1, "what may go nowhere else waits")

    async def after(plane: ControlPlane) -> None:
        with pytest.raises(NotFound):
            plane.backends.get("far")
        await adding(plane)
        await until(lambda: plane.store.counts()["running"] == 2, "what waited runs when it is added again")

    play_in_turn(tmp_path, play, after)


def test_an_idle_one_is_removed_and_stays_away(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await adding(plane)
        await until(lambda: plane.backends.get("far").nodes == 2, "its nodes come")
        removal = await plane.backends.remove("far", force=False)
        assert (removal.nodes, removal.tasks) == (2, 0)
        assert plane.store.backends() == []

    scene(settings(tmp_path), play)


def test_the_history_says_who_added_changed_and_removed_one_and_holds_no_secret(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        heard: list[str] = []

        newest = await plane.history.newest()

        async def follow() -> None:
            async for lines in plane.history.follow(newest):
                heard.extend(line.row["message"] for line in lines if line.row["kind"] == "backend")

        listening = asyncio.create_task(follow())
        began = time.time()
        await plane.backends.add("far", entry(), replace=False, author="ann", note=f"the token is {TOKEN}")
        await plane.backends.add("far", entry(key="another-token", forever=False), replace=True, author="bob")
        await plane.backends.add("far", entry(key="another-token", forever=False), replace=True)
        with pytest.raises(Conflict):
            await plane.backends.add("far", entry(), replace=False, author="eve")
        await plane.backends.remove("far", force=False, author="ann", note="moved")
        said = [
            "backend far added, of kind secretive by ann: the token is •••",
            "backend far changed (forever, key) by bob",
            "backend far given the same settings again",
            "backend far removed with 2 nodes and 0 tasks on them by ann: moved",
        ]
        lines = plane.store.history(backend="far")
        assert [line["message"] for line in lines] == said
        assert all(began <= line["at"] <= time.time() for line in lines)
        await until(lambda: heard == said, "whoever listens hears of it")
        listening.cancel()

    scene(settings(tmp_path), play)


def test_what_stands_in_the_settings_is_changed_there_only(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        for name in ("sim", "registered"):
            with pytest.raises(Conflict, match=r"stands in the settings|cannot be removed"):
                await plane.backends.remove(name, force=True)
            with pytest.raises(Conflict, match=r"stands in the settings|cannot be changed"):
                await plane.backends.add(name, entry(), replace=True)
        with pytest.raises(NotFound, match=r"no backend 'sym'\. Did you mean 'sim'\?"):
            await plane.backends.remove("sym", force=False)

    scene(settings(tmp_path), play)


def test_a_backend_whose_key_or_kind_is_gone_is_named_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def before(plane: ControlPlane) -> None:
        await adding(plane)
        await until(lambda: plane.backends.get("far").nodes == 2, "its nodes come")

    async def without_key(plane: ControlPlane) -> None:
        member = plane.backends.get("far").member
        assert member.state == "unusable"
        assert "its secrets cannot be opened: there is no key" in member.problem
        cluster = plane.engine._state.cluster
        assert not cluster.status.ready[cluster.rows["far-1"]]
        await plane.submit([work("w")])
        await until(lambda: plane.store.counts()["running"] == 1, "others run work")
        await plane.backends.add("far", entry(), replace=True)
        await until(lambda: bool(cluster.status.ready[cluster.rows["far-1"]]), "added again, it is used again")

    async def without_kind(plane: ControlPlane) -> None:
        assert "kind 'secretive' is not accepted" in plane.backends.get("far").member.problem
        assert (await plane.backends.remove("far", force=True)).nodes == 2

    scene(settings(tmp_path), before)
    (tmp_path / FILE).unlink()
    scene(settings(tmp_path), without_key)
    monkeypatch.delitem(registry.KINDS, "secretive")
    scene(settings(tmp_path), without_kind)


def test_a_start_with_a_new_key_first_seals_everything_with_it(tmp_path: Path) -> None:
    scene(settings(tmp_path), adding)
    old, new = (tmp_path / FILE).read_text().strip(), Fernet.generate_key().decode()

    async def play(plane: ControlPlane) -> None:
        assert state_of(plane, "far") != "unusable"

    (tmp_path / FILE).write_text(f"{new}\n{old}\n")
    scene(settings(tmp_path), play)
    (tmp_path / FILE).write_text(f"{new}\n")
    scene(settings(tmp_path), play)


def test_a_constructor_that_fails_keeps_nobody_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Secretive, name: str, given: object) -> None:
        raise OSError(f"no licence for {TOKEN}")

    monkeypatch.setattr(Secretive, "__init__", broken)

    async def play(plane: ControlPlane) -> None:
        assert await plane.backends.add("far", entry(), replace=False)
        assert plane.backends.get("far").member.problem == "cannot be built: OSError: no licence for •••"
        await plane.submit([work("w")])
        await until(lambda: plane.store.counts()["running"] == 1, "others run work")

    scene(settings(tmp_path), play)


def test_a_node_stays_with_the_backend_that_had_its_name_first(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        same = entry(groups=[{"count": 3, "prefix": "n", "capacity": {"cpu": 99}}, {"count": 1, "prefix": "own"}])
        await plane.backends.add("far", same, replace=False)
        assert (plane.backends.get("sim").nodes, plane.backends.get("far").nodes) == (3, 1)
        assert plane.engine._state.cluster.node("n-1").capacity.cpu == 16
        assert plane.backends.get("far").problem.startswith("another backend has a node 'n-1' already and 2 more")
        assert plane.backends.get("sim").problem == ""

    scene(settings(tmp_path), play)


def test_changes_of_one_backend_take_turns(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        added = [plane.backends.add("far", entry(key=f"key-{i}"), replace=True) for i in range(5)]
        assert sum(await asyncio.gather(*added)) == 1
        await until(lambda: state_of(plane, "far") == "closed", "it is taken up")

    scene(settings(tmp_path), play)


def test_a_backend_may_not_take_the_name_of_the_built_in_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="registered"):
        Settings.model_validate({"backends": {"registered": {"kind": "local"}}})
