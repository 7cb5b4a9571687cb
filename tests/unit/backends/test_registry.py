"""Kinds of backends: those that are built in, and those of other packages with every way of being bad."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from dovetail.backends import registry
from dovetail.backends.registry import BackendEntry, UnknownKind, build, find_kind, kind_names
from dovetail.model.text.validation_errors import complaints_of

Offer = Callable[[str, dict[str, str], str], None]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """`offer(package, {kind: object}, source of the module)` makes a package's entry points visible in this test."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(package: str, kinds: dict[str, str], source: str) -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in kinds.items())
        (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{lines}")
        (tmp_path / f"{package}.py").write_text(source)
        registry.offered.cache_clear()

    registry.offered.cache_clear()
    yield write
    for name in [name for name in sys.modules if name.startswith("stranger")]:
        del sys.modules[name]
    monkeypatch.undo()
    registry.offered.cache_clear()


GOOD = """
from dovetail.backends.simulated.settings import SimulatedSettings as Settings
def build(name, settings, folder):
    from dovetail.backends.simulated.backend import SimulatedBackend
    return SimulatedBackend(name, settings)
"""


def test_a_strangers_kind_is_built_like_any_other(offer: Offer, tmp_path: Path) -> None:
    offer("stranger", {"odd": "stranger"}, GOOD)
    assert kind_names()[-1] == "odd"
    entry = BackendEntry.of("odd", groups=[{"count": 2}])
    assert build("x", entry, tmp_path).name == "x"
    assert entry.model_dump(mode="json", exclude_unset=True) == {"kind": "odd", "groups": [{"count": 2}]}


def test_a_package_that_nobody_uses_is_not_loaded(offer: Offer) -> None:
    offer("stranger_broken", {"odd": "stranger_broken"}, "raise RuntimeError('no licence')")
    assert "odd" in kind_names()
    BackendEntry.of("local")
    with pytest.raises(UnknownKind, match=r"kind 'odd' \(stranger_broken\) cannot be loaded: no licence"):
        find_kind("odd")


def test_what_is_no_backend_is_refused_with_what_it_needs(offer: Offer) -> None:
    offer("stranger_poor", {"odd": "stranger_poor"}, "Settings = dict")
    with pytest.raises(UnknownKind, match=r"is no backend: it needs a `Settings` model .* and `build"):
        find_kind("odd")


def test_two_kinds_of_one_name_are_refused(offer: Offer) -> None:
    offer("stranger_one", {"odd": "stranger_one"}, GOOD)
    offer("stranger_two", {"odd": "stranger_two"}, GOOD)
    with pytest.raises(UnknownKind, match="two packages offer the kind 'odd'"):
        kind_names()


def test_a_kind_with_the_name_of_a_built_in_one_is_refused(offer: Offer) -> None:
    offer("stranger_bold", {"local": "stranger_bold"}, GOOD)
    with pytest.raises(UnknownKind, match="has the name of a built-in one; rename it"):
        kind_names()


@pytest.mark.parametrize(
    ("written", "field", "said"),
    [
        ({"kind": "simulatd"}, "", "kind 'simulatd' is not accepted. Did you mean 'simulated'? Write one of: "),
        ({"kind": 7}, "", "kind '7' is not accepted."),
        ({"node": "x"}, "", "needs the field kind, which says what it is: "),
        (["local"], "", "a list is not accepted; write a mapping of fields, the first of them kind"),
        ({"kind": "local", "grace": 1}, "grace", "unknown field 'grace'. Did you mean 'grace_s'?"),
        ({"kind": "local", "capacity": {"cpu": "much"}}, "capacity.cpu", "'much' is not a quantity;"),
        ({"kind": "simulated", "groups": [{"count": 0}]}, "groups[0].count", "0 is too small; the least is 1"),
    ],
)
def test_a_mistake_is_said_with_its_field(written: object, field: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BackendEntry.model_validate(written)
    (complaint,) = complaints_of(caught.value, BackendEntry)
    assert complaint.field == field
    assert complaint.message.startswith(said)


def test_libraries_of_clouds_load_only_when_their_backend_is_built() -> None:
    look = "import sys, dovetail.backends.registry as r; r.find_kind('aws_lambda'); print('boto3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, text=True).stdout.strip() == "False"
