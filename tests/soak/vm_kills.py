"""Servers that are killed around the creation and the end of VMs (`tests/e2e/vm_kills.py`), for as long as the soak
says.

Each round has so many kills on one server, one database and two hypervisors, and ends with an audit of what libvirt's
own lists say.
"""

import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.servers.libvirt import libvirt_hosts
from tests.soak.findings import Finding, Part

KILLS_A_ROUND = 50


def vm_kills(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    part, began = Part("vm-kills", seed), time.monotonic()
    amid = started = daemons = 0
    for number in itertools.count(seed):
        try:
            with libvirt_hosts("hv1", "hv2") as hosts, tempfile.TemporaryDirectory() as folder:
                from tests.e2e.vm_kills import VmKills

                audit = VmKills(hosts, Path(folder), number).run(KILLS_A_ROUND)
        except pytest.skip.Exception as error:
            part.not_run = str(error)
            return part
        part.rounds += 1
        part.tests += audit.kills
        amid, started, daemons = amid + audit.amid, started + audit.started, daemons + audit.daemon_kills
        part.findings += [Finding("the audit after kills around VMs", number, words) for words in audit.wrong]
        say(f"vm-kills: round {part.rounds}: {audit}")
        if time.monotonic() - began > seconds:
            break
    part.seconds = time.monotonic() - began
    part.figures = {"kills": part.tests, "amid": amid, "started": started, "daemon_kills": daemons}
    return part
