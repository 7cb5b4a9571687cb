"""One use for each command: it runs the command on a live server and looks at what it did there.

A new command needs a use here, or the suite fails.
"""

import gzip
import json
import re
from threading import Thread

import httpx
from tests.open_folder import open_folder
from tests.patience import wait_for
from tests.servers.measured_nodes import measured_nodes
from tests.servers.redfish import redfish_server
from tests.unit.cli.command_walk.walk import CommandWalk, uses

from dovetail.cli.terminal.failure import ExitCode
from dovetail.client import Client

# --- work ----------------------------------------------------------------------------------------------------


@uses("submit", "cancel")
def submit_and_cancel(walk: CommandWalk) -> None:
    file = walk.file("work.yaml", "name: filed\nrun: {command: [x], simulate: {run_time: 1ms}}\n")
    assert "1 succeeded" in walk.run(f"submit -f {file} --wait")
    assert "accepted 1 workload: sent" in walk.run("submit --name sent --cpu 10m -- sleep inf")
    assert "asked to stop" in walk.run("cancel sent --reason enough")
    wait_for(lambda: walk.client.workload("sent")["state"] == "cancelled")
    assert "enough" in walk.client.workload("sent")["message"]
    walk.run("submit --name hurried --cpu 10m -- sleep inf")
    assert "asked to stop" in walk.run("cancel hurried --force")
    wait_for(lambda: walk.client.workload("hurried")["state"] == "cancelled")


@uses("run")
def run_and_follow(walk: CommandWalk) -> None:
    def stop() -> None:
        wait_for(lambda: any(row["state"] == "running" for row in walk.client.workloads(name="followed")["items"]))
        walk.client.cancel("followed")

    stopping = Thread(target=stop)
    stopping.start()
    walk.run("run --name followed --cpu 10m -- sleep inf", code=1)
    stopping.join()
    assert walk.client.workload("followed")["state"] == "cancelled"


@uses("preempt")
def stop_others(walk: CommandWalk) -> None:
    there = [{"require": 'node.name == "node-2"'}]
    whole = {"priority": "low", "resources": {"cpu": "10m", "gpu": 2}, "constraints": there}
    walk.running("in-the-way", **whole)
    walk.client.submit({"name": "elbowing", **whole})
    assert "in-the-way.0  low" in walk.run("preempt elbowing --dry-run")
    walk.run("preempt elbowing", code=2)  # nobody is there to be asked
    assert walk.client.workload("in-the-way")["state"] == "running"
    assert "in-the-way.0" in walk.run("preempt elbowing --stop in-the-way.0 --yes")
    wait_for(lambda: walk.client.workload("elbowing")["state"] == "running")
    walk.client.cancel("in-the-way")
    walk.client.cancel("elbowing")


@uses("retry", "diff")
def retry_and_compare(walk: CommandWalk) -> None:
    text = "name: fails\nrun: {command: [x], simulate: {run_time: 1ms, exit_code: 3}}\n"
    file = walk.file("fails.yaml", text)
    walk.run(f"submit -f {file} --wait", code=1)
    assert walk.run("retry fails") == "fails: 1 task will run again: 0\n"
    wait_for(lambda: walk.client.workload("fails")["finished_at"])
    assert walk.client.tasks("fails")[0]["attempt"] == 2
    assert walk.run(f"diff -f {file}") == ""
    file.write_text(f"{text}priority: high\n")
    assert "+priority: high" in walk.run(f"diff -f {file}", code=1)


@uses("exec")
def next_to_a_task(walk: CommandWalk) -> None:
    walk.client.add_backend("beside", {"kind": "local", "node": "beside-node"})
    wait_for(lambda: any(row["name"] == "beside-node" for row in walk.client.nodes()))
    walk.running("entered", backends={"allow": ["beside"]}, run={"command": ["sleep", "1000"], "env": {"A": "b"}})
    said = walk.run("exec entered.0 -- sh -c 'echo $A; exit 3'", code=3)
    assert said.endswith("b\n")  # after the log of the server, which runs in this process
    walk.client.cancel("entered")
    wait_for(lambda: walk.client.workload("entered")["finished_at"])
    walk.client.remove_backend("beside")


@uses("attach")
def attach(walk: CommandWalk) -> None:
    walk.client.add_backend("held", {"kind": "local", "node": "held-node"})
    wait_for(lambda: any(row["name"] == "held-node" for row in walk.client.nodes()))
    with open_folder() as folder:
        script = f"until [ -e {folder}/go ]; do sleep 0.05; done; echo at last; exit 3"
        walk.running("waits-for-us", backends={"allow": ["held"]}, run={"command": ["sh", "-c", script]})

        def let_it_go() -> None:
            wait_for(lambda: walk.answers)
            (folder / "go").touch()

        going = Thread(target=let_it_go)
        going.start()
        assert walk.run("attach waits-for-us.0", code=3).endswith("at last\n")
        going.join()
    wait_for(lambda: walk.client.workload("waits-for-us")["finished_at"])
    walk.client.remove_backend("held")


@uses("get", "describe", "explain", "why-not")
def look_at_one(walk: CommandWalk) -> None:
    walk.running("looked-at")
    assert "looked-at" in walk.run("get")
    assert "looked-at" in walk.run("get looked-at")
    assert "default/looked-at" in walk.run("describe looked-at")
    assert "node-" in walk.run("explain looked-at")
    assert "node-1" in walk.run("why-not looked-at node-1")
    walk.client.cancel("looked-at")


@uses("logs")
def output(walk: CommandWalk) -> None:
    walk.ended("wrote", replicas=2)
    assert walk.run("logs wrote.1") == walk.client.logs("wrote", replica=1).text != ""
    assert walk.run("logs wrote --follow") == walk.client.logs("wrote").text
    lines = walk.run("logs wrote --all --tail 1").splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["wrote.0", "wrote.1"]


@uses("events", "history")
def the_past(walk: CommandWalk) -> None:
    walk.ended("past", user="ada")
    assert "default/past.0" in walk.run("events past.0")
    assert "past" in walk.run("history --user ada")


@uses("queue", "queues", "top")
def what_waits(walk: CommandWalk) -> None:
    walk.client.submit({"name": "waits", "resources": {"cpu": 99}})
    wait_for(lambda: walk.client.workload("waits")["reason"])
    assert "waits" in walk.run("queue")
    assert "default" in walk.run("queues")
    assert "waits" in walk.run("top --once")
    walk.client.cancel("waits")


# --- questions -----------------------------------------------------------------------------------------------


@uses("plan", "capacity", "fragmentation")
def questions(walk: CommandWalk) -> None:
    file = walk.file("work.yaml", "name: planned\nresources: {cpu: 1}\n")
    assert "node-" in walk.run(f"plan -f {file}")
    assert "node-1" in walk.run("capacity --cpu 1")
    walk.run("capacity --cpu 99", code=1)
    assert "GPU" in walk.run("fragmentation")


@uses("snapshot", "what-if", "profiles list", "profiles preview")
def on_a_copy(walk: CommandWalk) -> None:
    walk.running("copied")
    file = walk.folder / "state.json.gz"
    walk.run(f"snapshot -o {file}")
    assert "copied" in gzip.decompress(file.read_bytes()).decode()
    assert "difference" in walk.run("what-if --remove-node node-1 --cancel copied --horizon 1h")
    change = walk.file("change.yaml", "add_nodes: [{like: node-1, count: 2}]\nhorizon: 1h\n")
    assert "1h" in walk.run(f"what-if -f {change}")
    assert "auto" in walk.run("profiles")
    assert "best_fit would have chosen" in walk.run("profiles preview best_fit")
    walk.client.cancel("copied")


@uses("simulate snapshot", asks_server=False)
def simulate_a_snapshot(walk: CommandWalk) -> None:
    node = '{"node": {"name": "n", "capacity": {"cpu": 4}}, "row": 0}'
    work = '{"id": 1, "submitted_at": 5, "definition": {"name": "w", "resources": {"cpu": 1}}}'
    head = '"format": "dovetail-snapshot", "version": 1, "taken_at": 10'
    file = walk.file("state.json", f'{{{head}, "nodes": [{node}], "workloads": [{work}]}}')
    assert "1 workload with 1 task" in walk.run(f"simulate {file}")
    assert "1 failed" in walk.run(f"simulate snapshot {file} --add-nodes '2 x {{cpu: 4}}' --fail n@1m")
    assert "unknown profile" not in walk.run(f"simulate {file} -p best_fit -p auto")
    walk.run(f"simulate {file} --add-nodes '2 x nobody'", code=2)


@uses("simulate scenario", "simulate swf", asks_server=False)
def simulate(walk: CommandWalk) -> None:
    nodes = "cluster: {groups: [{prefix: n, count: 2, capacity: {cpu: 4}}], run_time: {median: 2m}}\n"
    scenario = walk.file("scenario.yaml", f"{nodes}workloads: [{{name: a, replicas: 3, resources: {{cpu: 1}}}}]\n")
    assert "1 workload with 3 tasks" in walk.run(f"simulate scenario {scenario}")
    line = "1 0 0 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n"
    log = walk.file("log.swf", "; MaxProcs: 4\n" + line)
    assert "log.swf" in walk.run(f"simulate swf {log} --whole --policy fcfs")


@uses("sweep", asks_server=False)
def sweep(walk: CommandWalk) -> None:
    group = "{groups: [{prefix: n, count: 2, capacity: {cpu: 4}}]}"
    walk.file(
        "day.yaml", f"cluster: {group}\nworkloads: [{{name: a, replicas: 3, run: {{simulate: {{run_time: 5s}}}}}}]\n"
    )
    file = walk.file("sweep.yaml", "source: {scenario: day.yaml}\nprofiles: [balanced, best_fit]\nseeds: 2\n")
    said = walk.run(f"sweep {file} --cores 1")
    assert "4 cases, 2 variants with 2 seeds each" in said


# --- rules ---------------------------------------------------------------------------------------------------


@uses(
    *("policy list", "policy show", "policy set", "policy history"),
    *("policy attach", "policy detach", "policy violations", "policy delete"),
)
def policies(walk: CommandWalk) -> None:
    walk.run("""policy set east --require 'node.labels.zone == "west"' """)
    assert "east" in walk.run("policy list")
    assert walk.run("policy --search nowhere") == "", "stderr says that there is none"
    assert "west" in walk.run("policy east")
    walk.running("against")
    walk.run("policy attach east --workload against")
    assert "against" in walk.run("policy violations east", code=1)
    walk.run("policy detach east --workload against")
    assert "no" in walk.run("policy violations east")
    assert "3" in walk.run("policy history east")
    walk.run("policy delete east")
    assert walk.client.policies() == []
    walk.client.cancel("against")


@uses("constraint check")
def constraint(walk: CommandWalk) -> None:
    assert "4" in walk.run("""constraint check 'node.labels.zone == "east"' """)
    walk.run("constraint check '1 +'", code=2)


@uses("affinity list", "affinity set", "affinity avoid", "affinity clear")
def affinity(walk: CommandWalk) -> None:
    walk.run("affinity set shop node-1")
    walk.run("affinity avoid shop node-2")
    listed = walk.run("affinity list")
    assert "node-1" in listed
    assert "node-2" in listed
    walk.run("affinity clear shop")
    assert walk.client.service_affinities() == []


# --- machines ------------------------------------------------------------------------------------------------


@uses("nodes list", "nodes show", "nodes register", "nodes label", "nodes taint", "nodes remove")
def nodes(walk: CommandWalk) -> None:
    file = walk.file("node.yaml", "name: joins\ncapacity: {cpu: 2}\n")
    walk.run(f"nodes register -f {file}")
    assert "joins" in walk.run("nodes")
    walk.run("nodes label joins disk=nvme")
    walk.run("nodes taint joins dedicated=gpu:NoSchedule")
    assert "disk=nvme" in walk.run("nodes joins")
    assert walk.client.node("joins")["taints"] == ["dedicated=gpu:NoSchedule"]
    walk.run("nodes remove joins --reason sold")
    walk.run("nodes show joins", code=4)


@uses("cordon", "uncordon", "drain", "fail")
def availability(walk: CommandWalk) -> None:
    walk.node("shaky", labels={"rack": "r9"})
    walk.run("cordon shaky --reason smoke")
    assert walk.client.node("shaky")["cordoned"]
    walk.run("uncordon shaky")
    assert not walk.client.node("shaky")["cordoned"]
    walk.run("drain shaky")
    assert walk.client.node("shaky")["drained"]
    walk.run("uncordon shaky")
    assert "1 node" in walk.run("fail rack r9")
    assert walk.client.node("shaky")["cordoned"]
    walk.client.remove_node("shaky")


@uses("attention", "trends", "decisions")
def overview(walk: CommandWalk) -> None:
    walk.running("decided-here")
    assert "decided-here" in walk.run("decisions --limit 500")
    walk.client.submit({"name": "much-too-large", "resources": {"cpu": 12345}})
    wait_for(lambda: "much-too-large fits on no node" in walk.run("attention"))
    walk.run("trends cpu waiting --since 2h")
    walk.run("trends cpu --node node-1 --since 7d")
    walk.client.cancel("much-too-large")
    walk.client.cancel("decided-here")


@uses("traffic")
def traffic(walk: CommandWalk) -> None:
    walk.running("listens")
    walk.running("talks", traffic=[{"to": "listens", "mbps": 40}])
    said = walk.run("traffic")
    assert "40 Mbps" in said
    walk.client.cancel("talks")
    walk.client.cancel("listens")


@uses("vm list", "vm console", "vm start", "vm stop", "vm reboot", "vm snapshot", "vm migrate", "vm adopt")
def virtual_machines(walk: CommandWalk) -> None:
    two = [{"prefix": "hypervisor", "count": 2, "capacity": {"cpu": 2, "memory": "4GiB"}}]
    simulated = {"kind": "simulated", "groups": two, "migrates": True, "forever": True, "vms_of_others": ["legacy"]}
    walk.client.add_backend("vms", simulated)
    wait_for(lambda: sum(row["backend"] == "vms" for row in walk.client.nodes()) == 2)
    machine = {"kind": "vm", "vm": {"image": "debian.qcow2"}, "resources": {"cpu": 1, "memory": "1GiB"}}
    walk.running("machine", backends={"allow": ["vms"]}, **machine)
    here = walk.client.tasks("machine")[0]["node"]
    other = "hypervisor-2" if here == "hypervisor-1" else "hypervisor-1"
    assert "2 VMs, 1 made by others" in walk.run("vm")
    assert "asked to shut down" in walk.run("vm stop machine")
    assert " off " in walk.run("vm list")
    assert "and 1 more VM; --limit 2 lists them" in walk.run("vm --sort power --limit 1")
    walk.run("vm reboot machine", code=ExitCode.REFUSED)
    assert "switched on" in walk.run("vm start machine")
    assert "asked to reboot" in walk.run("vm reboot machine")
    assert "no snapshots" in walk.run("vm snapshot machine")
    assert "taken" in walk.run("vm snapshot machine before")
    assert "before" in walk.run("vm snapshot machine")
    assert "reverted" in walk.run("vm snapshot machine before --revert")
    assert "removed" in walk.run("vm snapshot machine before --remove")
    assert f"{here} → {other}: done" in walk.run(f"vm migrate machine {other}")
    walk.run("vm console machine", code=ExitCode.REFUSED)  # a simulated VM has none
    walk.run("vm adopt hypervisor-1 unknown", code=ExitCode.REFUSED)
    assert "becomes workload legacy" in walk.run("vm adopt hypervisor-1 legacy")
    wait_for(lambda: walk.client.workload("legacy")["state"] == "running")
    walk.client.cancel("legacy")
    wait_for(lambda: walk.client.workload("legacy")["state"] == "cancelled")
    walk.client.cancel("machine")
    wait_for(lambda: walk.client.workload("machine")["state"] == "cancelled")
    walk.client.remove_backend("vms")


@uses("rebalance")
def rebalance(walk: CommandWalk) -> None:
    service = {"name": "balanced", "replicas": 4, "resources": {"cpu": 1}, "update": {"drain": 0}}
    walk.client.apply({**service, "node_selector": {"hostname": "nowhere"}})
    assert "Loads:" in walk.run("rebalance")
    assert "Moves:" in walk.run("rebalance --now")
    walk.client.remove_service("balanced")


@uses("topology list", "topology set", "topology show", "topology clear")
def topology(walk: CommandWalk) -> None:
    file = walk.file("network.yaml", "levels: [{name: leaf}]\ndomains: {leaf: {l1: ['node-[1-2]']}}\n")
    walk.run(f"topology set {file}")
    assert "l1" in walk.run("topology")
    assert "●●" in walk.run("topology --by health")
    assert "leaf" in walk.run("topology show")
    walk.run("topology clear")
    assert not walk.client.topology()["definition"]


@uses("topology discover", "distance measured", "distance trends")
def measured_network(walk: CommandWalk) -> None:
    with measured_nodes(walk.client) as names:
        assert "measured" in walk.run(f"distance measured {names[0]}")
        assert "BANDWIDTH" in walk.run("distance measured --limit 3")
        assert "ago" in walk.run(f"distance get {names[0]} {names[1]}")
        assert "Round trip" in walk.run(f"distance trends {names[0]} {names[1]}")
        assert "leaf-2" in walk.run("topology discover")
        assert "accepted" in walk.run("topology discover --accept")
        assert walk.client.topology()["definition"]["nodes"][names[0]] == {"leaf": "leaf-1"}
        walk.run("topology clear")


@uses("distance list", "distance get", "distance set", "distance clear", "distance import", "distance export")
def distances(walk: CommandWalk) -> None:
    walk.run("distance set node-1 node-2 25")
    assert "25" in walk.run("distance get node-1 node-2")
    file = walk.file("distances.csv", "from,to,distance\nnode-1,node-3,30\n")
    walk.run(f"distance import {file}")
    assert "node-3" in walk.run("distance list")
    assert "node-1,node-3,30" in walk.run("distance export")
    walk.run("distance clear node-1 node-2")
    walk.run("distance clear --all")
    assert walk.client.distances() == []


@uses("backend list", "backend show", "backend add", "backend remove", "backend history")
def backends(walk: CommandWalk) -> None:
    walk.run("backend add extra --kind simulated --set 'groups=[{count: 1, prefix: extra}]'")
    assert "extra" in walk.run("backend")
    assert "sim" not in walk.run("backend --search extra --sort=-nodes").replace("simulated", "")
    walk.run("backend --sort node", code=ExitCode.USAGE)
    assert "simulated" in walk.run("backend show extra")
    wait_for(lambda: walk.client.backend("extra")["nodes"] == 1)
    walk.run("backend remove extra --force")
    assert "removed" in walk.run("backend history extra")


@uses("cloud prices", "cloud instances", "cloud reap")
def launched_machines(walk: CommandWalk) -> None:
    """On a server without a cloud; tests/e2e/test_ec2.py has one with machines."""
    assert "nothing can be launched" in walk.run("cloud prices --match 'm7i.*' --spot --sort cpu")
    assert walk.run("cloud instances") == "no machine runs for us\n"
    assert "nothing to end" in walk.run("cloud reap --dry-run")
    assert walk.run("cloud prices --backend nowhere", code=4) == ""


@uses(
    *("metal list", "metal show", "metal on", "metal off", "metal cycle", "metal reset"),
    *("metal boot-device", "metal sensors", "metal savings"),
)
def metal(walk: CommandWalk) -> None:
    with redfish_server("rack1-u1") as redfish:
        walk.client.add_backend("rack1", redfish.backend())
        wait_for(lambda: walk.client.metal_machines()[0]["power"] == "off")
        assert "rack1-u1" in walk.run("metal")
        assert "rack1-u1 is on" in walk.run("metal on rack1-u1")
        assert redfish.power("rack1-u1") == "on"
        walk.run("metal cycle rack1-u1")
        walk.run("metal reset rack1-u1 --force")
        assert "rack1-u1 is off" in walk.run("metal off rack1-u1 --cut")
        assert redfish.power("rack1-u1") == "off"
        assert "boots from network the next time" in walk.run("metal boot-device rack1-u1 network")
        assert "64 GiB" in walk.run("metal show rack1-u1")
        assert "CPU Temp" in walk.run("metal sensors rack1-u1")
        wait_for(lambda: walk.client.metal_savings()["kwh"] > 0)
        assert "saved since" in walk.run("metal savings")
        walk.client.remove_backend("rack1", force=True)


@uses("reserve list", "reserve show", "reserve create", "reserve add", "reserve release")
def reservations(walk: CommandWalk) -> None:
    made = [
        json.loads(walk.run("reserve create --node node-4 --cpu 1 --for 1h -o json"))["id"],
        json.loads(walk.run("reserve add node-4 --cpu 1 --for 1h -o json"))["id"],
    ]
    assert "node-4" in walk.run("reserve")
    assert "and 1 more reservation" in walk.run("reserve --search node-4 --sort=-id --limit 1")
    for one in made:
        assert "node-4" in walk.run(f"reserve show {one}")
        walk.run(f"reserve release {one}")
    assert walk.client.reservations() == []


@uses("endpoints")
def where_a_service_is(walk: CommandWalk) -> None:
    walk.client.add_backend("found", {"kind": "local", "node": "found-node"})
    wait_for(lambda: any(row["name"] == "found-node" for row in walk.client.nodes()))
    run = {"command": ["sleep", "1000"]}
    walk.client.apply({"kind": "service", "name": "found", "run": run, "backends": {"allow": ["found"]}})
    wait_for(lambda: walk.client.endpoints("found")["items"])
    assert "found-node" in walk.run("endpoints found")
    assert "DISTANCE" in walk.run("endpoints found --from found-node")
    walk.client.scale("found", 0)
    wait_for(lambda: not walk.client.service("found")["items"])
    assert "no replica of found is ready" in walk.run("endpoints found")
    walk.client.remove_service("found")
    walk.client.remove_backend("found")


@uses("open")
def open_the_dashboard(walk: CommandWalk) -> None:
    walk.running("shown")
    assert "/login?next=%2F#dovetail_login_" in walk.run("open")
    assert "?next=%2Fworkload%2Fdefault%2Fshown#dovetail_login_" in walk.run("open shown --no-browser")
    walk.client.cancel("shown")


@uses("note")
def notes(walk: CommandWalk) -> None:
    assert "noted: driver 550 is rolled out" in walk.run("note driver 550 is rolled out")
    [row] = walk.client.event_page(kinds=["note"])["items"]
    assert row["message"] == "driver 550 is rolled out"


@uses("token sessions", "token logout")
def sessions_of_browsers(walk: CommandWalk) -> None:
    token = walk.client.login_link()["path"].partition("#")[2]
    opened = httpx.post(f"{walk.client.url}/api/v1/login", json={"token": token})
    [row] = walk.client.browser_sessions()
    shown = walk.run("token sessions")
    assert f"{row['id']}  admin" in shown
    assert all(value not in shown for value in opened.cookies.values())
    assert "ended" in walk.run(f"token logout {row['id']}")
    assert "no browser is logged in" in walk.run("token sessions")


@uses("token list", "token rotate", "token join", "token revoke", "token node")
def tokens(walk: CommandWalk) -> None:
    # The last line: the server, which runs in this process, logs before it.
    joins = walk.run("token join --uses 2 --ttl 10m").splitlines()[-1]
    [row] = walk.client.join_tokens()
    assert row["uses_left"] == 2
    Client(walk.client.url, joins).register_node({"name": "joined", "capacity": {"cpu": 1}})
    assert "1 join token" in walk.run("token")
    assert "revoked" in walk.run(f"token revoke {row['id']}")
    own = walk.run("token node joined").splitlines()[-1]
    Client(walk.client.url, own).heartbeat("joined")
    walk.client.remove_node("joined")
    rotated = walk.run("token rotate").splitlines()[-1]
    assert Client(walk.client.url, rotated).nodes()


@uses(
    *("apply", "services", "scale"),
    *("rollout status", "rollout history", "rollout undo", "rollout restart"),
)
def services(walk: CommandWalk) -> None:
    text = "{name: kept, kind: service, resources: {cpu: 10m}, update: {drain: 0s}, labels: {version: '%s'}}\n"
    file = walk.file("service.yaml", text % 1 + "---\nname: beside-kept\nresources: {cpu: 10m}\n")
    assert "kept: would be created\nwould submit 1 workload" in walk.run(f"apply -f {file} --dry-run")
    assert "kept: created\naccepted 1 workload: beside-kept" in walk.run(f"apply -f {file} --wait")
    assert "kept: unchanged" in walk.run(f"apply -f {file}")
    file.write_text(text % 2)
    assert "labels.version: 1 → 2" in walk.run(f"apply -f {file} --wait")
    assert "complete" in walk.run("services")
    assert "kept" in walk.run("services --search KEP --sort ready --limit 1")
    assert "kept.0" in walk.run("services kept")
    walk.run("scale kept 2 --wait")
    assert "2 of 2 ready" in walk.run("rollout status kept")
    assert "goes back to revision 1" in walk.run("rollout undo kept --wait")
    assert "revision 3" in walk.run("rollout restart kept --wait")
    assert walk.run("rollout history kept").count("\n") == 4
    listed = [line for line in walk.run("get --unfinished").splitlines() if line.startswith("kept")]
    assert [line.split()[:4] for line in listed] == [["kept", "●", "running", "2/2"]]
    assert walk.run("get --unfinished --all").count("kept-r3-") == 2
    assert "kept.0: " in walk.run("logs kept")
    told = walk.run("describe kept")
    assert "2 of 2 ready" in told
    assert "all about one replica: dovetail describe kept.0" in told
    assert "kept-r3-1" in walk.run("describe kept.1")
    assert walk.client.names("services") == ["kept"]
    assert walk.client.names("workloads", "kept") == ["kept"]
    walk.run("cancel beside-kept")
    walk.run("scale kept 0 --wait")
    assert "is a service; it would be removed, with 0 replicas" in walk.run("cancel kept --dry-run")
    walk.run("cancel kept")
    wait_for(lambda: not walk.client.services())


# --- cost ----------------------------------------------------------------------------------------------------


@uses("cost list", "cost forecast", "cost report")
def cost(walk: CommandWalk) -> None:
    walk.node("rented", offer={"price_per_hour": 3600})
    wait_for(lambda: walk.client.costs("node")["totals"][0]["total"])
    assert "rented" in walk.run("cost --by node")
    assert walk.run("cost --by backend -o csv").startswith(
        "by,name,namespace,workload,backend,currency,cost,idle\nbackend,registered,,,registered,USD,0.0,"
    )
    assert "all nodes" in walk.run("cost forecast")
    report = walk.folder / "report.html"
    walk.run(f"cost report -o {report}")
    page = report.read_text()
    assert "<svg" in page
    assert "rented" in page
    for foreign in ("<script", "http:", "https:", "@import", "url("):
        assert foreign not in page
    walk.run(f"cost report --month 2020-01 -o {walk.folder / 'old.csv'}")
    assert (walk.folder / "old.csv").read_text() == walk.run("cost report --month 2020-01")
    walk.run("cost report -o report.pdf", code=2)
    walk.run("cost --month 2020-13", code=2)
    assert "no node that costs anything" in walk.run("cost --since 2020-01-01 --until 2020-01-31")
    walk.client.remove_node("rented")


@uses("budget list", "budget set", "budget remove")
def budget(walk: CommandWalk) -> None:
    assert "no namespace has a budget" in walk.run("budget")
    assert "500.00 EUR" in walk.run("budget set team 500 eur --on-limit refuse --by ada")
    assert "team" in walk.run("budget list")
    assert "budget removed" in walk.run("budget remove team")
    walk.run("budget remove team", code=4)
    assert "budget of namespace team removed" in walk.run("events --kind budget")


# --- this program --------------------------------------------------------------------------------------------


@uses("config check", "config show", "completion", asks_server=False)
def this_program(walk: CommandWalk) -> None:
    file = walk.file("settings.yaml", "listen: {port: 9000}\n")
    assert "good" in walk.run(f"config check {file}")
    assert "port: 9000" in walk.run(f"config show {file}")
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert "_DOVETAIL_COMPLETE" in walk.run(f"completion {shell}")


@uses("version")
def version(walk: CommandWalk) -> None:
    assert f"at {walk.client.url}" in walk.run("version")


@uses("replay")
def replay(walk: CommandWalk) -> None:
    walk.ended("replayed")
    said = walk.run("replay --profile best_fit")
    assert re.search(r"All \d+ recorded decisions? came out the same when decided again", said), said
    assert "auto again" in said
