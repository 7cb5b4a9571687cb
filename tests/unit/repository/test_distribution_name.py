"""`pip install dovetail` fetches somebody else's package: whatever names ours for pip says `dovetail-scheduler`."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NAME = "dovetail-scheduler"
#: `dovetail` or `dovetail[extra]` as an argument of pip or pipx, or with an extra anywhere.
OLD_NAME = re.compile(r"pipx? (?:install|upgrade)[^\n`&;|]*? '?dovetail(?![\w/.-])|\bdovetail\[\w[\w,]*\]")


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    kinds = (".md", ".py", ".toml", ".yaml", ".yml", ".sh", ".txt", ".service", "Dockerfile", "Makefile")
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(kinds) and (ROOT / name).is_file()]


def test_nothing_tells_anybody_to_install_the_package_of_the_old_name() -> None:
    found = [
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in pages()
        if page != Path(__file__)
        for match in OLD_NAME.finditer(page.read_text())
    ]
    assert not found


@pytest.mark.parametrize("text", ["pip install dovetail", "pipx install 'dovetail[docker]'", "pip install -q dovetail"])
def test_the_check_sees_it(text: str) -> None:
    assert OLD_NAME.search(text)


@pytest.mark.parametrize("text", ["pip install dovetail-scheduler", "pip install ./examples/dovetail-rack-spread"])
def test_the_check_leaves_the_new_name_alone(text: str) -> None:
    assert not OLD_NAME.search(text)


@pytest.mark.parametrize("package", [path.parent.name for path in (ROOT / "examples").glob("*/pyproject.toml")])
def test_an_example_package_needs_the_distribution_by_its_name(package: str) -> None:
    project = tomllib.loads((ROOT / "examples" / package / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    needs = [*project["dependencies"], *(need for extra in extras for need in extra)]
    assert NAME in needs
    assert not [need for need in needs if re.match(r"dovetail(?!-)", need)]
