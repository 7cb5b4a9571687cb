"""The Helm chart of deploy/, and the program `helm`."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.servers.helm.programs import helm_path
from tests.servers.kubernetes.server import KubeServer

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy" / "helm" / "dovetail"
RELEASE = "dovetail"


def helm(*words: str | Path, server: KubeServer | None = None, fails: bool = False) -> str:
    """What it prints, on both streams; run at the root of the repository. Skips the test where there is no Helm."""
    program = helm_path()
    if program is None:
        pytest.skip("helm is not installed")
    env = {**os.environ, **({"KUBECONFIG": str(server.kubeconfig)} if server else {})}
    done = subprocess.run(
        [program, *words], cwd=ROOT, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    printed = done.stdout + done.stderr
    assert (done.returncode != 0) == fails, f"helm {' '.join(map(str, words))}: {printed}"
    return printed


def rendered(namespace: str, *values: str) -> list[dict[str, Any]]:
    """The objects that the chart makes in a namespace; `values` as for `--set`."""
    options = [word for value in values for word in ("--set", value)]
    found = yaml.safe_load_all(helm("template", RELEASE, CHART, "--namespace", namespace, *options))
    return [one for one in found if one]


def kinds(objects: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["kind"], one["metadata"]["name"]) for one in objects}


def named(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = (one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found
