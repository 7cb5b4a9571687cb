"""Calls of Slurm's commands that are cancelled, as often as that happens, leave no process and no open pipe."""

import asyncio
import gc
import warnings
from pathlib import Path

import pytest
from tests.patience import until
from tests.processes import process_lives

from dovetail.backends.slurm.cli import CliDriver
from dovetail.backends.slurm.settings import SlurmSettings

SLOW = """\
#!/bin/sh
echo $$ > {folder}/pid.new
mv {folder}/pid.new {folder}/pid
exec sleep 1000
"""


@pytest.mark.parametrize("turns", [1, 2, 5, 20])
def test_a_call_that_is_cancelled_again_while_it_ends_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    (tmp_path / "scontrol").write_text(SLOW.format(folder=tmp_path))
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    async def scene() -> None:
        asked = asyncio.create_task(CliDriver(SlurmSettings()).nodes())
        await until((tmp_path / "pid").exists, "the command runs")
        while not asked.done():
            asked.cancel()
            for _ in range(turns):
                await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asked

    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(scene())
        gc.collect()
    assert not process_lives(int((tmp_path / "pid").read_text()))
    assert not left_open
