"""A control plane that is killed again and again around launches of instances, and what AWS's own list says afterwards.

Each round submits work that needs an instance of its own and kills the server with SIGKILL a random moment later:
before the launch was asked for, while it is under way (the proxy holds its request and its answer for a while), or
after it. No agents run; in some rounds the server has little patience with that and ends all instances, so that kills
come around their ends, too. Whether work runs is for other tests.
"""

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.aws_faults import AwsFaults
from tests.servers.moto import IMAGE, MotoServer

from dovetail.client import Client

LONGEST_PAUSE_S = 0.2
LONGEST_LIFE_S = 0.4
ASKED_WITHIN_S = 2.0
PATIENT, IMPATIENT = "1h", "1s"
OVER = ("terminated", "shutting-down")


@dataclass
class KillAudit:
    """`amid`: how many kills came while a launch was under way. `wrong`: what must not be, in words."""

    kills: int = 0
    amid: int = 0
    launched: int = 0
    ended: int = 0
    impatient_now: bool = False
    wrong: list[str] = field(default_factory=list)


def _settings(url: str, port: int, within: str) -> dict[str, Any]:
    """`within`: how long the server waits for the agent of an instance before it ends it."""
    aws = {
        "kind": "ec2",
        "regions": ["us-east-1"],
        "zones": ["us-east-1a", "us-east-1b"],
        "types": ["m5.large"],
        "image": IMAGE,
        "live_prices": False,
        "access_key": "testing",
        "secret_key": "testing",
        "endpoint_url": url,
        "poll": "100ms",
        "idle": "500ms",
        "reap_after": "1h",  # an orphan must be found by the audit, not tidied away before
        "max_machines": 1000,
        "join": {"server": f"http://127.0.0.1:{port}", "install": "", "within": within},
    }
    return {"backends": {"aws": aws}, "loop": {"heartbeat_timeout": "1h"}}


def kill_around_launches(moto: MotoServer, faults: AwsFaults, folder: Path, kills: int, seed: int) -> KillAudit:
    chance, audit = random.Random(seed), KillAudit()
    faults.pause_s["RunInstances"] = faults.pause_s["TerminateInstances"] = lambda: chance.uniform(0, LONGEST_PAUSE_S)
    server = ServerProcess(folder)

    def start(within: str) -> None:
        (folder / "settings.json").write_text(json.dumps(_settings(faults.url, server.port, within)))
        server.start()

    start(PATIENT)
    with Client(server.url) as client:
        for number in range(kills):
            wait_for(client.cloud_prices, "the offers")
            client.submit({"name": f"job-{number}", "backends": {"allow": ["aws"]}, "resources": {"cpu": 2}})
            if chance.random() < 0.7:
                _until_asked(faults)
            sleep(chance.uniform(0, LONGEST_LIFE_S) + audit.impatient_now)
            audit.amid += faults.under_way["RunInstances"] > 0
            server.kill()
            audit.kills += 1
            audit.impatient_now = number + 1 < kills and chance.random() < 0.25
            start(IMPATIENT if audit.impatient_now else PATIENT)
        _audit(client, moto, audit)
        server.kill()
        start(IMPATIENT)
        try:
            wait_for(lambda: all(one["State"]["Name"] in OVER for one in moto.instances()), "the end of all instances")
        except AssertionError as error:
            audit.wrong.append(str(error))
    server.stop()
    return audit


def _until_asked(faults: AwsFaults) -> None:
    """Until a launch is under way, or for a while: work may go to an instance that is there."""
    gives_up_at = monotonic() + ASKED_WITHIN_S
    while not faults.under_way["RunInstances"] and monotonic() < gives_up_at:
        sleep(0.005)


def _audit(client: Client, moto: MotoServer, audit: KillAudit) -> None:
    def one_each() -> bool:
        running = [_tag(one, "dovetail-node") for one in moto.instances() if one["State"]["Name"] not in OVER]
        wanted = [row["name"] for row in client.workloads(limit=1000)["items"] if row["finished_at"] is None]
        placed = [row["node"] for name in wanted for row in client.tasks(name)]
        return None not in placed and sorted(running) == sorted(map(str, placed))

    try:
        wait_for(one_each, "an instance for each task, and no other")
    except AssertionError as error:
        audit.wrong.append(str(error))
    instances = moto.instances()
    audit.launched = len(instances)
    audit.ended = sum(one["State"]["Name"] in OVER for one in instances)
    tokens = Counter(_tag(one, "dovetail-launch") for one in instances)
    audit.wrong += [f"launch {token or 'without a mark'} made {n} instances" for token, n in tokens.items() if n > 1]
    nodes = Counter(_tag(one, "dovetail-node") for one in instances if one["State"]["Name"] not in OVER)
    audit.wrong += [f"node {node} has {number} instances" for node, number in nodes.items() if number > 1]
    found = client.reap(dry_run=True)
    audit.wrong += [f"nobody knows of {one['id']} ({one['node']})" for one in found["items"]]


def _tag(instance: dict[str, Any], key: str) -> str:
    return next((str(one["Value"]) for one in instance.get("Tags", []) if one["Key"] == key), "")
