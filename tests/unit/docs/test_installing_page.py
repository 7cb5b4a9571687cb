"""The page about installing: its names are those of the package, the image, the chart and the unit."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.e2e.docs.page import command_beginning

from dovetail import __version__

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "installing.md"
TEXT = PAGE.read_text()
DOCKERFILE = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()


def test_the_image_has_one_name_and_the_version_of_the_package() -> None:
    for text in (TEXT, DOCKERFILE):
        assert set(re.findall(r"\bdovetail:\d[\w.]*", text)) == {f"dovetail:{__version__}"}


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (line,) = re.findall(r"# extras: (.*)", TEXT)
    named = set(re.findall(r"\w+", line)) & set(project["optional-dependencies"])
    assert named == set(project["optional-dependencies"]) - {"dev"}
    assert command_beginning(PAGE, "pipx install").split()[-1] == project["name"]


def test_the_container_keeps_its_data_where_the_image_has_its_volume() -> None:
    words = shlex.split(command_beginning(PAGE, "docker run"))
    (volume,) = re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)
    assert words[words.index("--volume") + 1].split(":")[1] == volume
    (port,) = re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)
    assert words[words.index("--publish") + 1].endswith(f":{port}")


@pytest.mark.parametrize(("argument", "default"), re.findall(r"^ARG (\w+)=(\S+)$", DOCKERFILE, re.MULTILINE))
def test_every_build_argument_is_on_the_page(argument: str, default: str) -> None:
    shown = "none" if default == '""' else f"`{default}`"
    assert f"| `{argument}` | {shown} |" in TEXT


def test_every_value_on_the_page_is_one_of_the_chart_with_its_default() -> None:
    values = yaml.safe_load((ROOT / "deploy" / "helm" / "dovetail" / "values.yaml").read_text())
    for path in re.findall(r"`((?:image|controlPlane|scheduler|rbac|serviceMonitor)\.[\w.]+)`", TEXT):
        found = values
        for part in path.split("."):
            found = found[part]
    assert f"| {values['controlPlane']['persistence']['size']}, " in TEXT
    assert f"| {values['scheduler']['replicas']}, `names: {{dovetail: kubernetes}}` |" in TEXT


def test_the_steps_for_systemd_make_what_the_unit_names() -> None:
    unit = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / "deploy/systemd/dovetail.service").read_text(), re.MULTILINE))
    assert command_beginning(PAGE, "sudo useradd").endswith(f" {unit['User']}")
    program, _, _, settings = unit["ExecStart"].split()
    assert command_beginning(PAGE, "sudo python3").endswith(program.removesuffix("/bin/dovetail"))
    assert command_beginning(PAGE, "sudo install -D").endswith(settings)
    assert f"`{unit['EnvironmentFile'].removeprefix('-')}`" in TEXT
