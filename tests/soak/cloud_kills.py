"""Servers that are killed around launches of instances (`tests/e2e/cloud_kills.py`), for as long as the soak says.

Each round has so many kills on one server and one database, and ends with an audit of what AWS's own list says.
"""

import importlib.util
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.cloud_kills import kill_around_launches
from tests.servers.aws_faults import aws_faults
from tests.servers.moto import moto_server
from tests.soak.findings import Finding, Part

KILLS_A_ROUND = 50


def cloud_kills(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    part, began = Part("cloud-kills", seed), time.monotonic()
    if importlib.util.find_spec("moto") is None:
        part.not_run = "moto is not installed (PyPI: moto[server])"
        return part
    launched = amid = 0
    for number in itertools.count(seed):
        with moto_server() as moto, aws_faults(moto.url) as faults, tempfile.TemporaryDirectory() as folder:
            audit = kill_around_launches(moto, faults, Path(folder), KILLS_A_ROUND, number)
        part.rounds += 1
        part.tests += audit.kills
        launched, amid = launched + audit.launched, amid + audit.amid
        part.findings += [Finding("the audit after kills around launches", number, words) for words in audit.wrong]
        say(f"cloud-kills: round {part.rounds}: {audit}")
        if time.monotonic() - began > seconds:
            break
    part.seconds = time.monotonic() - began
    part.figures = {"kills": part.tests, "launched": launched, "amid": amid}
    return part
