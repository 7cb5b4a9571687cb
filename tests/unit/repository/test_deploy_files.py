"""The files in deploy/ belong together: one image of this version, pods that can run it, a valid unit of systemd."""

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail import __version__
from dovetail.api.protocol.known_hosts import KnownHosts
from dovetail.control.settings import Settings

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
IMAGE = f"dovetail:{__version__}"
UNIT = DEPLOY / "systemd" / "dovetail.service"
AGENT_UNIT = DEPLOY / "systemd" / "dovetail-agent.service"
#: Of `systemd-analyze security`, from 0 (best) to 100: what it calls OK.
MOST_EXPOSURE = 25


def manifests() -> list[dict[str, Any]]:
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return [one for file in files for one in yaml.safe_load_all(file.read_text()) if one]


def pods() -> dict[str, dict[str, Any]]:
    """The specification of the pods of each manifest, by its name."""
    kinds = ("Deployment", "StatefulSet")
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in manifests() if one["kind"] in kinds}


@pytest.mark.parametrize("name", pods())
def test_a_manifest_runs_the_image_that_the_dockerfile_builds(name: str) -> None:
    (container,) = pods()[name]["containers"]
    assert container["image"] == IMAGE
    assert container["command"][0] == "dovetail"
    user = re.search(r"^USER (\d+):\d+$", (DEPLOY / "docker" / "Dockerfile").read_text(), re.MULTILINE)
    assert user is not None
    assert container["securityContext"]["runAsUser"] == int(user[1])


def test_the_control_plane_is_not_told_of_services_in_variables_that_settings_would_read() -> None:
    assert pods()["dovetail"]["enableServiceLinks"] is False


def test_the_settings_in_the_manifest_of_the_control_plane_are_valid() -> None:
    (found,) = (
        one for one in manifests() if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "dovetail-settings"
    )
    settings = Settings.model_validate(yaml.safe_load(found["data"]["settings.yaml"]))
    assert list(settings.backends) == ["cluster"]
    known = KnownHosts(settings.listen)
    for host in ("dovetail:8080", "dovetail.dovetail.svc:8080", "dovetail.dovetail.svc.cluster.local"):
        assert known.unknown_name(host) is None


def unit() -> dict[str, list[str]]:
    """The lines of the section Service, by key."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    parser.read(UNIT)
    assert parser.sections() == ["Unit", "Service", "Install"]
    lines = re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE)
    return {key: [value for other, value in lines if other == key] for key, _ in lines}


def test_the_unit_starts_serve_with_its_own_user_and_leaves_running_work_alone() -> None:
    found = unit()
    assert found["ExecStart"] == ["/opt/dovetail/bin/dovetail serve --config /etc/dovetail/settings.yaml"]
    assert found["User"] == ["dovetail"]
    assert found["StateDirectory"] == ["dovetail"]
    assert found["KillMode"] == ["process"]


@pytest.mark.parametrize("unit", [UNIT, AGENT_UNIT], ids=lambda path: path.stem)
def test_systemd_finds_the_unit_valid_and_hardened(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    # The program has to exist where the unit is verified.
    installed = tmp_path / unit.name
    installed.write_text(unit.read_text().replace("/opt/dovetail/bin/dovetail", f"{sys.executable} -m dovetail"))
    hardened = ["security", "--offline=true", f"--threshold={MOST_EXPOSURE}"]
    for question in (["verify"], hardened) if unit == UNIT else (["verify"],):  # an agent needs the rights of root
        done = subprocess.run(["systemd-analyze", *question, installed], capture_output=True, text=True)
        assert done.returncode == 0, f"{question}: {done.stdout}{done.stderr}"
        assert question[0] != "verify" or not done.stderr
