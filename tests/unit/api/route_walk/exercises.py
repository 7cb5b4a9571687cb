"""One exercise for each route: it asks a live server as a client would, and provokes every kind of answer.

They go through `dovetail.client.Client`, so that every method of it is exercised too; through plain HTTP only where the
client has no method. A new route needs an exercise here, or the suite fails.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.patience import wait_for
from tests.servers.measured_nodes import measured_nodes
from tests.servers.redfish import redfish_server
from tests.unit.api.route_walk.walk import Walk, exercises

from dovetail.client import DovetailError

EAST = 'node.labels["zone"] == "east"'
NETWORK = {
    "levels": [{"name": "spine", "bandwidth": "1600Gbps"}, {"name": "leaf", "bandwidth": "800Gbps"}],
    "domains": {"leaf": {"l1": ["node-[1-2]"], "l2": ["node-[3-5]"]}, "spine": {"s1": ["l1", "l2"]}},
}
SIMULATED = {"kind": "simulated", "groups": [{"prefix": "far", "count": 1, "capacity": {"cpu": 1}}]}
TOO_LARGE = {"cpu": 99, "memory": "1TiB"}


# --- workloads -----------------------------------------------------------------------------------------------


@exercises("POST /workloads", "DELETE /workloads/{ref}")
def submit_and_cancel(walk: Walk) -> None:
    walk.client.dry_run([{"name": "rehearsed"}, {"name": "rehearsed-too", "resources": TOO_LARGE}])
    walk.client.submit([{"name": "first"}, {"name": "second"}])
    walk.client.submit_yaml("name: third\nresources: {cpu: 1}\n")
    for name in ("first", "second", "third"):
        walk.client.cancel(name, reason="enough")


@exercises("GET /workloads", "GET /workloads/{ref}", "GET /workloads/{ref}/tasks")
def list_and_inspect(walk: Walk) -> None:
    walk.running("listed", replicas=2, user="ada", service="web")
    with walk.submitted("waits", resources=TOO_LARGE):
        page = walk.client.workloads(limit=1)
        walk.client.workloads(limit=1, cursor=page["cursor"])
        walk.client.workload("waits")
    walk.client.workload("listed")
    walk.client.tasks("listed")
    assert walk.client.task_page("listed", state="running")["total"] == 2
    walk.client.cancel("listed")
    wait_for(lambda: walk.client.workload("listed")["state"] == "cancelled")


@exercises("GET /workloads/{ref}/decisions", "GET /workloads/{ref}/history")
def decisions_and_history(walk: Walk) -> None:
    walk.running("decided", resources={"gpu": "500m"})
    walk.client.decisions("decided")
    assert walk.client.decision_page("decided", limit=1)["cursor"] is None
    walk.client.history("decided")
    assert walk.client.history_page("decided", limit=1)["cursor"] is not None
    walk.client.cancel("decided")


@exercises("GET /workloads/{ref}/attempts", "GET /usage")
def attempts_and_usage(walk: Walk) -> None:
    walk.running("counted", user="ada")
    assert walk.client.attempts("counted")["total"] == 1
    assert walk.client.usage(user="ada")["total"]["workloads"] >= 1
    walk.client.cancel("counted")


@exercises("GET /workloads/{ref}/logs")
def output(walk: Walk) -> None:
    walk.client.submit({"name": "wrote", "run": {"command": ["x"], "simulate": {"run_time": "100ms"}}})
    (row,) = walk.client.wait("wrote")
    assert row["state"] == "succeeded"
    assert "".join(walk.client.follow_logs("wrote")) == walk.client.logs("wrote").text


@exercises("POST /workloads/cancel")
def cancel_a_selection(walk: Walk) -> None:
    walk.client.submit([{"name": "sel-1"}, {"name": "sel-2"}, {"name": "other"}])
    assert [row["name"] for row in walk.client.cancel_selected(match="sel-*", dry_run=True)] == ["sel-1", "sel-2"]
    walk.client.cancel_selected(match="sel-*", reason="enough", force=True)
    walk.client.cancel("other")


@exercises("POST /workloads/{ref}/preempt")
def preempt(walk: Walk) -> None:
    there = [{"require": 'node.name == "node-2"'}]
    whole = {"priority": "low", "resources": {"cpu": "10m", "gpu": 2}, "constraints": there}
    walk.running("in-the-way", **whole)
    walk.client.submit({"name": "elbowing", **whole})
    with pytest.raises(DovetailError, match="holds no node"):
        walk.client.preempt("elbowing", ["elbowing.0"])
    assert walk.client.preempt("elbowing", ["in-the-way"], dry_run=True)["victims"][0]["name"] == "in-the-way"
    walk.client.preempt("elbowing", ["default/in-the-way.0"])
    wait_for(lambda: walk.client.workload("elbowing")["state"] == "running")
    assert walk.client.workload("in-the-way")["state"] == "pending"
    walk.client.cancel("in-the-way")
    walk.client.cancel("elbowing")


@exercises("POST /workloads/{ref}/retry")
def retry(walk: Walk) -> None:
    walk.client.submit({"name": "broken", "run": {"command": ["x"], "simulate": {"run_time": "10ms", "exit_code": 3}}})
    wait_for(lambda: walk.client.workload("broken")["state"] == "failed")
    assert walk.client.retry("broken", reason="once more")["tasks"] == [0]
    wait_for(lambda: walk.client.workload("broken")["state"] == "failed")


@exercises(
    *("POST /workloads/{ref}/exec", "POST /workloads/{ref}/attach", "GET /exec/{command}/output"),
    *("POST /exec/{command}/input", "PUT /exec/{command}/terminal", "DELETE /exec/{command}"),
)
def execute(walk: Walk) -> None:
    walk.client.add_backend("here", {"kind": "local", "node": "this-machine"})
    wait_for(lambda: any(row["name"] == "this-machine" for row in walk.client.nodes()))
    walk.running("beside", backends={"allow": ["here"]}, run={"command": ["sleep", "1000"], "env": {"COLOUR": "red"}})
    started = walk.client.execute("beside", ["sh", "-c", "cat; echo $COLOUR; exit 3"], stdin="is ")
    assert started["node"] == "this-machine"
    output = wait_for(lambda: one if (one := walk.client.exec_output(started["id"])).ended else None)
    assert (output.content, output.exit_code) == (b"is red\n", 3)
    walk.client.end_exec(started["id"])
    typed = walk.client.execute("beside", ["sh", "-c", "read x; stty size"], interactive=True, terminal=(30, 90))["id"]
    walk.client.resize_exec(typed, 31, 91)
    assert walk.client.exec_input(typed, b"go\n", offset=0) == 3
    output = wait_for(lambda: one if (one := walk.client.exec_output(typed)).ended else None)
    assert (output.content, output.exit_code) == (b"go\r\n31 91\r\n", 0)
    attached = walk.client.attach("beside")
    assert not attached["takes_input"]
    walk.client.end_exec(attached["id"])
    walk.client.cancel("beside")
    wait_for(lambda: walk.client.workload("beside")["state"] == "cancelled")
    walk.client.remove_backend("here")


# --- names ---------------------------------------------------------------------------------------------------


@exercises("GET /names", "GET /names/{ref}")
def names(walk: Walk) -> None:
    with walk.submitted("called", namespace="walked", replicas=2):
        assert walk.client.names("workloads", "walked/") == ["walked/called"]
        assert walk.client.named("called.1")["replica"] == 1


# --- services ------------------------------------------------------------------------------------------------


@exercises(
    *("POST /services", "GET /services", "GET /services/{ref}", "DELETE /services/{ref}"),
    *("PUT /services/{ref}/scale", "POST /services/{ref}/undo", "POST /services/{ref}/restart"),
)
def services(walk: Walk) -> None:
    spec = {"name": "kept", "ports": [{"name": "http"}], "resources": {"cpu": "10m"}, "update": {"drain": "0s"}}
    assert walk.client.apply(spec, dry_run=True)[0]["outcome"] == "created"
    walk.client.apply([spec | {"labels": {"version": "1"}}], by="ada")
    wait_for(lambda: walk.client.service("kept")["rollout"] == "complete")
    assert walk.client.apply(spec)[0]["changes"]
    walk.client.undo_rollout("kept", 1)
    walk.client.restart_service("kept", by="ada")
    walk.client.scale("kept", 2)
    assert [row["name"] for row in walk.client.services(namespace="default")] == ["kept"]
    assert walk.client.service_page(search="KEP", sort="-ready", limit=1)["total"] == 1
    assert len(walk.client.service("kept")["revisions"]) == 3
    wait_for(lambda: walk.client.service("kept")["ready"] == 2)
    walk.client.remove_service("kept")
    wait_for(lambda: not walk.client.services())


# --- questions -----------------------------------------------------------------------------------------------


@exercises("POST /plan")
def plan(walk: Walk) -> None:
    gang = {"name": "gang", "replicas": 3, "gang": {"min": 3}, "resources": {"gpu": 2}}
    plans = walk.client.plan([gang, {"name": "alone"}, {"name": "large", "resources": TOO_LARGE}])
    assert plans[0]["communication"] is not None
    assert plans[2]["suggestions"] or plans[2]["core"]
    whole = {"cpu": 8, "gpu": 2}
    walk.running("low", priority="batch", resources=whole, node_selector={"zone": "east"}, replicas=4)
    [preempting] = walk.client.plan({"name": "urgent", "priority": "critical", "resources": whole})
    walk.client.cancel("low")
    wait_for(lambda: walk.client.workload("low")["state"] == "cancelled")
    assert preempting["displaces"] is not None


@exercises("POST /capacity")
def capacity(walk: Walk) -> None:
    assert walk.client.capacity({"resources": {"cpu": 1}})["by_node"]
    assert walk.client.capacity({"resources": TOO_LARGE})["explanation"]["shortages"]


@exercises("GET /workloads/{ref}/explain")
def explain(walk: Walk) -> None:
    walk.running("explained")
    assert walk.client.explain("explained")["decision"] is not None
    walk.client.cancel("explained")
    with walk.submitted("in-vain", resources=TOO_LARGE):
        wait_for(lambda: walk.client.workload("in-vain")["reason"])
        waiting = walk.client.explain("in-vain")
    assert waiting["now"] is not None
    assert waiting["core"]


@exercises("GET /workloads/{ref}/why-not/{node}")
def why_not(walk: Walk) -> None:
    with walk.submitted("elsewhere", resources=TOO_LARGE):
        assert walk.client.why_not("elsewhere", "node-1")["refused"]
    with walk.submitted("anywhere"):
        assert walk.client.why_not("anywhere", "node-1")["best"]


@exercises("POST /plan")
def plan_what_is_wrong(walk: Walk) -> None:
    work = {"name": "x", "resources": {"cpu": 2}, "limits": {"cpu": 1}}
    answer = walk.http.post("/plan", params={"complaints": True}, json=work).json()
    assert answer["plans"] == []
    assert answer["errors"][0]["field"] == "limits.cpu"


@exercises("GET /workloads/{ref}/refusals/{step}")
def refusals(walk: Walk) -> None:
    with walk.submitted("nowhere", resources=TOO_LARGE):
        page = walk.client.refusals("nowhere", "resources", limit=1)
        assert page["total"] >= 1
        assert page["items"][0]["message"]
        assert walk.client.refusals("nowhere", "no-such-filter")["items"] == []


@exercises("GET /fragmentation")
def fragmentation(walk: Walk) -> None:
    walk.client.fragmentation()


# --- nodes ---------------------------------------------------------------------------------------------------


@exercises("GET /nodes", "POST /nodes", "GET /nodes/{name}", "PATCH /nodes/{name}", "DELETE /nodes/{name}")
def register_change_and_remove_a_node(walk: Walk) -> None:
    gpus = [{"count": 2, "model": "H100", "memory": "80GiB"}]
    node = {"name": "mine", "capacity": {"cpu": 4, "memory": "1GiB"}, "gpus": gpus}
    walk.client.register_node(node)
    walk.client.register_node(node)
    taints = [{"key": "dedicated", "value": "tests", "effect": "NoSchedule"}]
    walk.client.patch_node("mine", labels={"only": "here"}, taints=taints)
    assert walk.client.node("mine")["gpus"]
    walk.client.nodes()
    walk.client.remove_node("mine")


@exercises("POST /nodes/{name}/cordon", "POST /nodes/{name}/uncordon", "POST /nodes/{name}/drain")
def cordon_and_drain(walk: Walk) -> None:
    walk.client.cordon("node-4", reason="a test")
    walk.client.uncordon("node-4")
    walk.client.drain("node-4")
    walk.client.uncordon("node-4")


@exercises("GET /nodes/{name}/diagnostics", "GET /nodes/{name}/tasks")
def diagnostics_and_tasks(walk: Walk) -> None:
    walk.running("there", node_selector={"zone": "east"})
    [task] = walk.client.tasks("there")
    assert task["node"] is not None
    assert walk.client.node_tasks(task["node"])
    walk.client.diagnostics(task["node"])
    walk.client.cancel("there")


@exercises("POST /nodes/{name}/heartbeat")
def heartbeat(walk: Walk) -> None:
    walk.client.register_node({"name": "beating", "capacity": {"cpu": 4}, "labels": {"only": "beating"}})
    with walk.submitted("fetched", node_selector={"only": "beating"}, run={"command": ["x"]}):
        [order] = wait_for(lambda: walk.client.heartbeat("beating", used={"cpu": 1})["run"])
        walk.client.heartbeat("beating", tasks=[{"key": order["key"], "state": "running"}])
    walk.client.heartbeat("beating", tasks=[{"key": order["key"], "state": "finished", "exit_code": 0}])
    walk.client.remove_node("beating")


@exercises("POST /nodes/{name}/probes", "GET /distances/measured", "GET /distances/trends", "GET /topology/discovered")
def probes(walk: Walk) -> None:
    with measured_nodes(walk.client) as names:
        walk.client.register_node({"name": "silent", "capacity": {"cpu": 1}})
        orders = walk.client.report_probes("silent", {"address": None, "port": None, "results": [], "trains": []})
        assert orders["peers"] == []
        walk.client.remove_node("silent")
        found = walk.client.measured_distances()
        assert found["total"] == len(names) * (len(names) - 1) // 2
        assert walk.client.measured_distances(names[0], limit=2)["items"][0]["to"] == names[1]
        assert walk.client.distance(*names[:2])["source"] == "measured"
        assert walk.client.distance_trends(*names[:2], since_s=60, points=1)["series"]["loss"]["values"] == [0.0]
        (level,) = walk.client.discovered_topology()["levels"]
        assert [one["nodes"] for one in level["domains"]] == [names[:3], names[3:]]


@exercises("GET /nodes/{name}/orders", "POST /nodes/{name}/calls/{call}")
def orders_and_questions(walk: Walk) -> None:
    walk.client.register_node({"name": "waiting", "capacity": {"cpu": 4}, "labels": {"only": "waiting"}})
    with walk.submitted("fetched", node_selector={"only": "waiting"}, run={"command": ["x"]}):
        [order] = wait_for(lambda: walk.client.orders("waiting", wait_s=5)["run"])
        walk.client.heartbeat("waiting", tasks=[{"key": order["key"], "state": "running"}])
        wait_for(lambda: walk.client.workload("fetched")["state"] == "running")
        with ThreadPoolExecutor(1) as beside:
            found = beside.submit(walk.client.logs, "fetched")
            [call] = wait_for(lambda: walk.client.orders("waiting")["calls"])
            assert (call["kind"], call["key"]) == ("logs", order["key"])
            walk.client.answer_call("waiting", call["id"], {"text": "said\n", "next_offset": 5, "ended": True})
            assert found.result().text == "said\n"
    walk.client.heartbeat("waiting", tasks=[{"key": order["key"], "state": "finished", "exit_code": 0}])
    walk.client.remove_node("waiting")


@exercises("POST /nodes/{name}/sessions/{session}", "GET /nodes/{name}/sessions/{session}/input")
def sessions_of_agents(walk: Walk) -> None:
    walk.client.register_node({"name": "typing", "capacity": {"cpu": 4}, "labels": {"only": "typing"}})
    with walk.submitted("beside-agent", node_selector={"only": "typing"}, run={"command": ["x"]}):
        [order] = wait_for(lambda: walk.client.orders("typing", wait_s=5)["run"])
        walk.client.heartbeat("typing", tasks=[{"key": order["key"], "state": "running"}], answers=True)
        wait_for(lambda: walk.client.workload("beside-agent")["state"] == "running")
        command = walk.client.execute("beside-agent", ["cat"], stdin="typed")["id"]
        [call] = wait_for(lambda: walk.client.orders("typing")["calls"])
        session = call["asked"]["session"]
        assert (call["kind"], call["asked"]["command"]) == ("execute", ["cat"])
        found = wait_for(lambda: walk.client.session_input("typing", session, wait_s=5)["pieces"])
        assert found[0]["content"] == "dHlwZWQ="
        walk.client.send_output("typing", session, number=0, content="dHlwZWQ=")
        walk.client.send_output("typing", session, number=1, exit_code=3)
        output = wait_for(lambda: one if (one := walk.client.exec_output(command)).ended else None)
        assert (output.content, output.exit_code) == (b"typed", 3)
    walk.client.heartbeat("typing", tasks=[{"key": order["key"], "state": "finished", "exit_code": 0}])
    walk.client.remove_node("typing")


@exercises("POST /failures")
def failures(walk: Walk) -> None:
    walk.client.register_node({"name": "failing", "capacity": {"cpu": 1}, "labels": {"rack": "failing"}})
    assert walk.client.fail("rack", "failing", reason="smoke")["nodes"] == ["failing"]
    walk.client.uncordon("failing")
    walk.client.fail("node", "failing")
    walk.client.remove_node("failing")


# --- queues and reservations ---------------------------------------------------------------------------------


@exercises("GET /queue", "GET /queues")
def queues(walk: Walk) -> None:
    walk.running("holds", user="ada")
    with walk.submitted("waiting", resources=TOO_LARGE), walk.submitted("after-it", after=[{"workload": "waiting"}]):
        assert {item["position"] is None for item in wait_for(walk.client.queue)} == {True, False}
        assert walk.client.queue_page(limit=1)["total"] >= 2
        tree = walk.client.queues()
    assert tree["tenants"]
    walk.client.cancel("holds")


@exercises("GET /reservations", "POST /reservations", "GET /reservations/{id}", "DELETE /reservations/{id}")
def reservations(walk: Walk) -> None:
    ahead = {"domain": {"zone": "east"}, "count": 1, "resources": {"cpu": 1}, "start": "+1h", "duration": "1h"}
    made = [
        walk.client.reserve("node-2", {"cpu": 1}, "1h", holder="ada"),
        walk.client.reserve_ahead(ahead | {"every": "1d", "tenant": "team"}),
    ]
    assert walk.client.reservations()
    assert walk.client.reservation_page(sort="start", limit=1)["total"] >= 2
    for one in made:
        walk.client.reservation(one["id"])
        walk.client.release(one["id"])


# --- policies ------------------------------------------------------------------------------------------------


@exercises("GET /policies", "PUT /policies/{name}", "GET /policies/{name}", "DELETE /policies/{name}")
def policies(walk: Walk) -> None:
    adjust = [{"when": 'domain("zone", "east").utilisation.cpu >= 0.0', "become": "prefer", "weight": 0.5}]
    policy = {"name": "written", "constraints": [{"require": EAST, "name": "east", "adjust": adjust}]}
    walk.client.set_policy(policy, by="ada", note="why")
    walk.client.set_policy(policy)
    assert walk.client.policy("written") in walk.client.policies()
    assert walk.client.policy_page(search="written", sort="-set_at")["total"] == 1
    walk.client.remove_policy("written", by="ada")


@exercises("GET /policies/{name}/versions", "GET /policies/{name}/versions/{version}")
def versions(walk: Walk) -> None:
    walk.client.set_policy({"name": "versioned", "constraints": [{"require": EAST}]})
    walk.client.remove_policy("versioned")
    newest, *_ = walk.client.policy_versions("versioned")
    assert newest["removed"]
    walk.client.policy_version("versioned", 1)


@exercises(
    "POST /policies/{name}/attachments", "DELETE /policies/{name}/attachments", "GET /policies/{name}/violations"
)
def attachments_and_violations(walk: Walk) -> None:
    walk.running("against")
    walk.client.set_policy({"name": "attached", "constraints": [{"require": 'node.labels["zone"] == "west"'}]})
    assert walk.client.attach_policy("attached", workloads=["against"])["violations"]
    assert walk.client.policy_violations("attached")
    walk.client.detach_policy("attached", workloads=["against"])
    walk.client.remove_policy("attached")
    walk.client.cancel("against")


@exercises("POST /constraints/check")
def check_a_constraint(walk: Walk) -> None:
    assert walk.client.check_constraint('node.labels["zone"] == "west"')["nodes"]["failing"]
    assert not walk.client.check_constraint("1 +")["ok"]


@exercises(
    "GET /affinity",
    *("PUT /services/{service}/affinity", "GET /services/{service}/affinity", "DELETE /services/{service}/affinity"),
    *("PUT /services/{service}/antiaffinity", "GET /services/{service}/antiaffinity"),
    "DELETE /services/{service}/antiaffinity",
)
def affinity_of_services(walk: Walk) -> None:
    walk.running("of-cart", service="cart")
    walk.client.set_service_affinity("cart", ["node-9"], required=True, by="ada")
    walk.client.set_service_antiaffinity("cart", ["node-2"])
    assert walk.client.service_affinity("cart")["warnings"]
    walk.client.service_antiaffinity("cart")
    assert len(walk.client.service_affinities()) == 2
    walk.client.clear_service_affinity("cart")
    walk.client.clear_service_antiaffinity("cart")
    walk.client.cancel("of-cart")


# --- cost ----------------------------------------------------------------------------------------------------


@exercises("GET /cost", "GET /cost/report", "GET /cost/forecast")
def cost(walk: Walk) -> None:
    walk.client.register_node({"name": "rented", "capacity": {"cpu": 1}, "offer": {"price_per_hour": 3600}})
    [row] = walk.client.costs("node")["items"]
    assert row["name"] == "rented"
    assert row["idle"] is not None
    assert row["idle"] > 0
    assert walk.client.costs("workload", month="2020-01", namespace="team")["items"] == []
    assert walk.client.cost_report()["by"]["backend"][0]["name"] == "registered"
    assert walk.client.cost_forecast()["items"][0]["per_hour"] == 3600
    walk.client.remove_node("rented")


@exercises("GET /budgets", "PUT /budgets/{namespace}", "DELETE /budgets/{namespace}")
def budgets(walk: Walk) -> None:
    walk.client.set_budget("team", 500, "EUR", on_limit="refuse", by="ada")
    walk.client.set_budget("team", 400, "EUR")
    [row] = walk.client.budgets()
    assert (row["namespace"], row["amount"], row["currency"], row["state"]) == ("team", 400, "EUR", "ok")
    walk.client.remove_budget("team")
    assert walk.client.budgets() == []


# --- network -------------------------------------------------------------------------------------------------


@exercises("GET /traffic")
def traffic(walk: Walk) -> None:
    walk.running("heard")
    walk.running("speaks", traffic=[{"to": "heard", "mbps": 40}])
    [row] = [row for row in walk.client.traffic() if row["source"] == "speaks"]
    assert (row["target"], row["declared_mbps"], row["observed_mbps"]) == ("heard", 40.0, None)
    walk.client.cancel("speaks")
    walk.client.cancel("heard")


@exercises(
    *("GET /vms", "POST /vms/adopt", "POST /vms/{ref}/power", "POST /vms/{ref}/migrate", "GET /vms/{ref}/migration"),
    *("GET /vms/{ref}/snapshots", "PUT /vms/{ref}/snapshots/{snapshot}", "DELETE /vms/{ref}/snapshots/{snapshot}"),
    "POST /vms/{ref}/snapshots/{snapshot}/revert",
)
def virtual_machines(walk: Walk) -> None:
    two = [{"prefix": "hypervisor", "count": 2, "capacity": {"cpu": 2, "memory": "4GiB"}}]
    simulated = {"kind": "simulated", "groups": two, "migrates": True, "forever": True, "vms_of_others": ["legacy"]}
    walk.client.add_backend("vms", simulated)
    wait_for(lambda: sum(row["backend"] == "vms" for row in walk.client.nodes()) == 2)
    machine = {"kind": "vm", "vm": {"image": "debian.qcow2"}, "resources": {"cpu": 1, "memory": "1GiB"}}
    walk.running("machine", backends={"allow": ["vms"]}, **machine)
    (row,) = [row for row in walk.client.vms() if row["workload"] == "machine"]
    assert walk.client.vm_page(search="machine", sort="cpus", limit=1)["items"] == [row]
    assert (row["power"], row["memory_bytes"]) == ("running", 2**30)
    assert walk.client.set_vm_power("machine", "off")["done"] == "asked to shut down"
    assert [one["power"] for one in walk.client.vms() if one["workload"] == "machine"] == ["off"]
    walk.client.set_vm_power("machine", "on")
    walk.client.take_vm_snapshot("machine", "before")
    walk.client.revert_vm("machine", "before")
    assert [one["name"] for one in walk.client.vm_snapshots("machine")] == ["before"]
    walk.client.remove_vm_snapshot("machine", "before")
    assert walk.client.vm_migration("machine")["state"] == "none"
    other = next(name for name in ("hypervisor-1", "hypervisor-2") if name != row["node"])
    walk.client.migrate_vm("machine", other, reason="to see it move")
    wait_for(lambda: walk.client.vm_migration("machine")["state"] == "done")
    assert walk.client.tasks("machine")[0]["attempt"] == 1, "it was moved, and not started again"
    walk.client.adopt_vm("hypervisor-1", "legacy", "legacy", user="ada")
    wait_for(lambda: [one["workload"] for one in walk.client.vms() if one["name"] == "legacy"] == ["legacy"])
    walk.client.cancel("legacy")
    wait_for(lambda: walk.client.workload("legacy")["state"] == "cancelled")
    for refused in (
        lambda: walk.client.adopt_vm("hypervisor-1", "unknown", "unknown"),
        lambda: walk.client.revert_vm("machine", "before"),
        lambda: walk.client.migrate_vm("machine", "nowhere"),
    ):
        with pytest.raises(DovetailError):
            refused()
    walk.client.cancel("machine")
    wait_for(lambda: walk.client.workload("machine")["state"] == "cancelled")
    walk.client.remove_backend("vms")


@exercises("GET /rebalancing", "POST /rebalancing")
def rebalancing(walk: Walk) -> None:
    assert walk.client.rebalancing()["at"] > 0
    walk.client.rebalance()


@exercises("GET /topology", "PUT /topology", "DELETE /topology", "GET /topology/domains")
def topology(walk: Walk) -> None:
    walk.client.set_topology(NETWORK)
    assert walk.client.topology()["some_strangers"] == ["node-5"]
    assert walk.client.domains("leaf", gpus=2)[0]["largest_gang"] is not None
    text = "SwitchName=s1 Nodes=node-[1-4]\n"
    walk.http.put("/topology?format=slurm", content=text, headers={"Content-Type": "text/plain"}).raise_for_status()
    walk.client.forget_topology()


@exercises("GET /distances/matrix")
def distance_matrix(walk: Walk) -> None:
    walk.client.set_topology(NETWORK)
    walk.client.set_distances([("node-1", "node-2", 25.0)])
    leaves = walk.client.distance_matrix("leaf")
    assert leaves["level"] == "leaf"
    assert len(leaves["cells"]) == len(leaves["names"]) == len(leaves["nodes"])
    inside = walk.client.distance_matrix("leaf", leaves["names"][0])
    place = {name: index for index, name in enumerate(inside["names"])}
    cell = inside["cells"][place["node-1"]][place["node-2"]]
    assert (cell["distance"], cell["source"], cell["age_s"]) == (25.0, "by_hand", None)
    assert inside["cells"][0][0]["distance"] is None, "a node has no distance from itself"
    for refused in (("shelf",), ("leaf", "none")):
        with pytest.raises(DovetailError):
            walk.client.distance_matrix(*refused)
    walk.client.clear_distances()
    walk.client.forget_topology()
    walk.client.distance_matrix()


@exercises("GET /distances", "PUT /distances", "DELETE /distances")
def distances(walk: Walk) -> None:
    walk.client.set_distances([("node-1", "node-2", 25.0)])
    text = "from,to,distance\nnode-1,node-3,30\n"
    walk.http.put("/distances", content=text, headers={"Content-Type": "text/csv"}).raise_for_status()
    assert len(walk.client.distances()) == 2
    walk.client.distances_csv()
    assert walk.client.distance("node-1", "node-2")["by_hand"]
    walk.client.distance("node-1", "node-4")
    walk.client.clear_distances("node-1", "node-2")
    walk.client.clear_distances()


# --- metal ---------------------------------------------------------------------------------------------------


@exercises(
    "GET /metal/machines",
    "GET /metal/machines/{name}",
    "POST /metal/machines/{name}/power",
    "PUT /metal/machines/{name}/boot-device",
    "GET /metal/machines/{name}/sensors",
    "GET /metal/savings",
)
def metal(walk: Walk) -> None:
    with redfish_server("rack1-u1") as redfish:
        walk.client.add_backend("rack1", redfish.backend())
        wait_for(lambda: walk.client.metal_machines()[0]["power"] == "off")
        assert walk.client.metal_power("rack1-u1", "on")["power"] == "on"
        assert walk.client.metal_power("rack1-u1", "off", force=True)["power"] == "off"
        walk.client.metal_boot_device("rack1-u1", "network", once=False)
        found = walk.client.metal_machine("rack1-u1")
        assert found["boot_device"] == "network"
        assert found["inventory"] is not None
        assert len(walk.client.metal_sensors("rack1-u1")) > len(walk.client.metal_sensors("rack1-u1", sort="fan")) > 0
        wait_for(lambda: walk.client.metal_savings()["kwh"] > 0)
        walk.client.remove_backend("rack1", force=True)


# --- backends ------------------------------------------------------------------------------------------------


@exercises("GET /backends", "GET /backends/{name}", "PUT /backends/{name}", "DELETE /backends/{name}")
def backends(walk: Walk) -> None:
    walk.client.add_backend("extra", SIMULATED, by="ada", note="for a test")
    walk.client.add_backend("extra", SIMULATED, replace=True)
    wait_for(lambda: walk.client.backend("extra")["nodes"] == 1)
    walk.client.backends()
    assert walk.client.backend_page(search="extra", sort="state")["total"] == 1
    assert "simulated" in walk.client.backend_kinds()
    walk.client.remove_backend("extra", force=True)
    assert walk.client.backend_history("extra")


@exercises("GET /cloud/prices", "GET /cloud/instances", "POST /cloud/reap")
def launched_machines(walk: Walk) -> None:
    """Of a server without a cloud; tests/e2e/test_ec2.py has one with machines."""
    assert walk.client.cloud_prices(match="m7i.*", gpus=1, spot=True) == []
    assert walk.client.cloud_instances(ended=True) == {"items": [], "problems": []}
    assert walk.client.reap(dry_run=True)["items"] == []


# --- discovery -----------------------------------------------------------------------------------------------


@exercises(
    "GET /services/{ref}/endpoints", "GET /endpoints", "GET /nodes/{name}/distances", "GET /discovery/prometheus"
)
def discovery(walk: Walk) -> None:
    walk.client.register_node({"name": "reached", "address": "192.0.2.1", "capacity": {"cpu": 1}})
    walk.client.apply({"kind": "service", "name": "found", "ports": [{"name": "http"}], "resources": {"cpu": "100m"}})
    known = walk.client.endpoint_changes()
    assert {"name": "reached", "address": "192.0.2.1"} in known["nodes"]
    wait_for(lambda: "found" in [one["name"] for one in walk.client.endpoint_changes()["services"]])
    later = walk.client.endpoint_changes(after=known["version"], wait_s=10)
    assert not later["full"]
    assert walk.client.endpoints("found", start="node-1")["service"] == "found"
    assert walk.client.distances_from("node-1")["node-1"] == 0.0
    assert walk.client.distances_from("node-1", endpoints=True).keys() <= walk.client.distances_from("node-1").keys()
    walk.client.prometheus_targets(port="http")
    walk.client.remove_service("found")
    walk.client.remove_node("reached")


@exercises("POST /notes")
def notes(walk: Walk) -> None:
    written = walk.client.note("  driver 550 is rolled out ")
    [row] = [row for row in walk.client.event_page(kinds=["note"])["items"] if row["at"] == written["at"]]
    assert row["message"] == written["text"] == "driver 550 is rolled out"


# --- tokens --------------------------------------------------------------------------------------------------


@exercises("POST /tokens/admin", "GET /tokens/join", "POST /tokens/join", "DELETE /tokens/join/{number}")
def tokens(walk: Walk) -> None:
    made = walk.client.make_join_token(uses=2, ttl=60)
    assert made["id"] in [row["id"] for row in walk.client.join_tokens()]
    walk.client.revoke_join_token(made["id"])
    assert walk.client.rotate_admin_token()["token"]


@exercises(
    *("POST /login/links", "POST /login", "GET /login", "DELETE /login"),
    *("GET /login/sessions", "DELETE /login/sessions/{number}"),
)
def sessions_of_browsers(walk: Walk) -> None:
    token = walk.client.login_link()["path"].partition("#")[2]
    walk.http.request("GET", "/login")
    opened = walk.http.request("POST", "/login", json={"token": token})
    cookie = {"Cookie": opened.headers["set-cookie"].partition(";")[0], "X-Dovetail-CSRF": opened.json()["csrf"]}
    assert walk.http.request("GET", "/login", headers=cookie).json()["pages"]
    [asking] = [row for row in walk.client.browser_sessions() if row["made_at"] > opened.json()["expires_at"] - 43201]
    assert not asking["current"]
    walk.http.request("DELETE", "/login", headers=cookie)
    walk.http.request("POST", "/login", json={"token": walk.client.login_link()["path"].partition("#")[2]})
    walk.client.end_browser_session(walk.client.browser_sessions()[-1]["id"])
    with pytest.raises(DovetailError, match="dovetail token sessions shows them"):
        walk.client.end_browser_session(asking["id"])


@exercises("POST /nodes/{name}/token")
def node_token(walk: Walk) -> None:
    walk.client.register_node({"name": "has-token", "capacity": {"cpu": 1}})
    assert walk.client.make_node_token("has-token")["token"]
    walk.client.remove_node("has-token")


# --- the server ----------------------------------------------------------------------------------------------


@exercises("GET /events")
def events(walk: Walk) -> None:
    walk.running("eventful")
    past = walk.client.past_events(workload="eventful")
    assert walk.client.event_page(workload="eventful", newest=True, limit=1)["cursor"] is not None
    assert next(walk.client.events(after=past[0]["seq"], workload="eventful")) == past[1]
    with walk.http.stream("GET", "/events?after=0", headers={"Accept": "text/event-stream"}) as answer:
        data = next(line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: "))
    walk.check_event("GET /api/v1/events", data)
    walk.client.cancel("eventful")


@exercises("GET /trends", "GET /attention", "GET /topology/map", "GET /decisions")
def overview(walk: Walk) -> None:
    walk.running("seen", resources={"gpu": 1})
    assert walk.client.trends(since_s=600, points=10, series=["cpu", "use_by_domain"])["step_s"] == 60
    assert walk.client.trends(node="node-1")["series"]["cpu"]["title"] == "CPU requested"
    with walk.submitted("waits-for-ever", resources=TOO_LARGE):
        wait_for(lambda: walk.client.attention()["items"])
        assert any(row["name"] == "seen" for row in walk.client.recent_decisions(limit=100))
    found = walk.client.topology_map(workload="seen")
    assert found["workload"]["tasks"] == [1]
    assert not walk.client.topology_map(after=found["version"])["full"]
    assert walk.client.node_page(search="node", sort="-use", limit=1)["total"] >= 4
    walk.client.cancel("seen")


@exercises("GET /summary", "GET /profiles")
def summary_and_profiles(walk: Walk) -> None:
    walk.client.summary()
    walk.client.profiles()


@exercises("GET /health", "GET /ready", "GET /metrics")
def health(walk: Walk) -> None:
    walk.client.health()
    walk.client.ready()
    walk.client.metrics()


# --- on a copy of the state ----------------------------------------------------------------------------------


@exercises("GET /snapshot", "POST /what-if", "POST /profiles/preview")
def on_a_copy(walk: Walk) -> None:
    walk.running("copied")
    assert b'"copied"' in walk.client.snapshot()
    assert walk.client.what_if({"cancel": ["copied"], "horizon": "1h"})["sentences"]
    assert walk.client.what_if(b"profile: best_fit\n")["after"]["profile"] == "best_fit"
    with pytest.raises(DovetailError, match="no node 'nowhere'"):
        walk.client.what_if({"remove_nodes": ["nowhere"]})
    assert walk.client.preview_profile("best_fit", last=5)["decisions"] >= 1
    assert walk.client.preview_profile({"scores": {"best_fit": 1}})["profile"] == "what-if"
    walk.client.cancel("copied")


@exercises("GET /recordings", "GET /recordings/{name}")
def recordings(walk: Walk) -> None:
    walk.running("recorded")
    newest = walk.client.recordings()[-1]["name"]
    assert walk.client.recording(newest).startswith(b"\x1f\x8b")
    with pytest.raises(DovetailError):
        walk.client.recording("none")
    walk.client.cancel("recorded")
