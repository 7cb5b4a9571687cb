"""Plugins of other packages, offered the way an installed package offers them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dovetail.placement import registry

Offer = Callable[..., None]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """`offer("package", {"dovetail.scores": {"name": "module:Class"}})` makes the entry points visible in this test."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(package: str, groups: dict[str, dict[str, str]], metadata: str = "") -> None:
        info = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n{metadata}")
        lines = [
            line
            for group, points in groups.items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        _forget()

    _forget()
    yield write
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    registry.filters.cache_clear()
    registry.scores.cache_clear()
    registry.outside_strategies.cache_clear()
