"""One backend after the other is slow, failing, lying and silent under load: nothing is lost, doubled or orphaned."""

import asyncio
from pathlib import Path
from random import Random

import pytest
from tests.patience import until
from tests.unit.control.test_plane import settings, work

from dovetail.backends import registry
from dovetail.backends.contract import Backend
from dovetail.backends.registry import BackendKind
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.control.plane import ControlPlane
from dovetail.testing.faulty_backend import Fault, FaultyBackend

BACKENDS = ("first", "second", "third")
MANY = 40


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, FaultyBackend]:
    found: dict[str, FaultyBackend] = {}

    def build(name: str, given: SimulatedSettings, folder: Path) -> Backend:
        found[name] = FaultyBackend(SimulatedBackend(name, given), Random(name), slow_s=1.0)
        return found[name]

    monkeypatch.setitem(registry.KINDS, "faulty", BackendKind(SimulatedSettings, build))
    return found


def finished(plane: ControlPlane) -> int:
    counts = plane.store.counts()
    return sum(counts[state] for state in ("succeeded", "failed", "cancelled"))


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_nothing_is_lost_doubled_or_orphaned(tmp_path: Path, fault: Fault, made: dict[str, FaultyBackend]) -> None:
    entries = {
        name: {"kind": "faulty", "groups": [{"count": 2, "prefix": name, "capacity": {"cpu": 64}}]} for name in BACKENDS
    }
    loop = {"call_timeout": "500ms", "slow_call": "300ms", "relist": "200ms"}

    async def run() -> None:
        plane = ControlPlane(settings(tmp_path, backends=entries, loop=loop))
        await plane.start()
        try:
            ids = []
            for turn, name in enumerate(BACKENDS):
                await made[name].become(fault)
                for number in range(MANY):
                    one = work(
                        f"job-{turn}-{number}",
                        backends={"allow": [BACKENDS[number % len(BACKENDS)]]},
                        retries=5,
                        run={"simulate": {"run_time": "50ms"}},
                    )
                    ids += [accepted.id for accepted in await plane.submit([one])]
                    await asyncio.sleep(0.01)
                await made[name].become(Fault.NONE)
            await until(lambda: not any(id_ in plane.questions.workloads for id_ in ids), "the end of all work")
            # The engine knows of an end before the store has it.
            await until(lambda: finished(plane) == len(ids), "the end of all work is stored")
            rows = [plane.store.workload(id_) for id_ in ids]
            assert [row and row["state"] for row in rows] == ["succeeded"] * len(ids)
            for backend in made.values():
                assert backend.truth.orphans() == []
                assert backend.truth.doubled() == []
            assert len(set().union(*(backend.truth.succeeded() for backend in made.values()))) == len(ids)
        finally:
            await plane.stop()

    asyncio.run(run())
