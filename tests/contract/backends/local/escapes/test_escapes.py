"""Jobs that try to break out of the local executor: none reads, forges, outlives or uses up what is not its own."""

import shutil

import pytest
from tests.contract.backends.local.escapes.prison import OUTPUT_LIMIT, PROCESSES, Prison
from tests.contract.backends.local.rig import lasting
from tests.patience import wait_for
from tests.processes import process_with

Cell = tuple[Prison, str]
pytestmark = [pytest.mark.xdist_group("escapes"), pytest.mark.needs_server]


def attempts_to_read(*paths: object) -> str:
    """By their names, through the processes that could lead there, and in a namespace where the job is root."""
    names = " ".join(map(str, paths))
    more = " ".join(f"/proc/[0-9]*/root{path} /proc/[0-9]*/cwd{path}" for path in paths)
    inside = f"umount -l /proc/self/cwd/../.. {names}; cat {names}"
    return f"cat {names} {more}; unshare -Urm sh -c '{inside}'; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; echo tried"


def test_a_job_reads_neither_database_nor_keys_nor_the_surroundings_of_the_server(cell: Cell) -> None:
    prison, backend = cell
    prison.needs(backend, "mounts")
    hidden = [prison.data / name for name in ("secret.key", "kept.token", "dovetail.db")]
    ended = prison.run(backend, f"ls -R {prison.data}; {attempts_to_read(*hidden)}")
    assert "tried" in ended.text
    assert prison.secret not in ended.text
    assert "SQLite format" not in ended.text
    assert "secret.key\n" not in ended.text.replace("No such file or directory", "")


@pytest.mark.parametrize("namespace", ["default", "others"])
def test_a_job_reads_no_folder_and_no_output_of_another(cell: Cell, namespace: str) -> None:
    prison, backend = cell
    prison.needs(backend, "mounts")
    victim = prison.submit(backend, "echo mine-$((40+2)) | tee kept; exec sleep 1000")
    prison.wait_for_output(victim, "mine-42")
    folder = prison.run_folder(backend, victim)
    files = [folder / "output.log", folder / "work/kept", folder / "order"]
    ended = prison.run(backend, attempts_to_read(*files), namespace=namespace)
    with prison.client() as client:
        client.cancel(victim)
    assert "tried" in ended.text
    assert "mine-42" not in ended.text


def test_a_job_cannot_forge_its_result(cell: Cell) -> None:
    prison, backend = cell
    prison.needs(backend, "mounts", "processes")
    forged = '{\\"exit_code\\": 0, \\"reason\\": \\"forged\\"}'
    script = f'for at in .. $PWD/.. ../../*; do echo "{forged}" > $at/result.json; done; kill -9 1; exit 7'
    ended = prison.run(backend, script)
    assert (ended.exit_code, "forged" in ended.message) == (7, False)


def test_a_job_cannot_leave_its_cgroups(cell: Cell) -> None:
    prison, backend = cell
    if not prison.labels(backend)["limits"].startswith("cgroup"):
        pytest.skip(f"the node says that limits are by {prison.labels(backend)['limits']}")
    leave = "for file in $(find /sys/fs/cgroup -name cgroup.procs); do echo $$ > $file; done 2> /dev/null"
    ended = prison.run(
        backend, f"cat /proc/self/cgroup; {leave}; unshare -Urm sh -c '{leave}'; echo after; cat /proc/self/cgroup"
    )
    before, after = ended.text.split("after\n")
    own = [line for line in before.splitlines() if line.endswith(".0.1")]
    assert own
    assert [line for line in after.splitlines() if line.endswith(".0.1")] == own


def test_a_job_gains_no_rights(cell: Cell) -> None:
    prison, backend = cell
    ended = prison.run(backend, "grep -E '^(NoNewPrivs|CapEff)' /proc/self/status; id -u")
    lines = dict(line.split(":\t") for line in ended.text.splitlines()[:2])
    assert lines["NoNewPrivs"] == "1"
    assert int(lines["CapEff"], 16) == 0
    assert ended.text.splitlines()[-1] != "0"


def test_namespaces_of_workloads_run_as_different_users(root_prison: Prison) -> None:
    root_prison.needs("local", "users")
    uids = [root_prison.run("local", "id -u", namespace=name).text for name in ("red", "blue", "red")]
    assert uids[0] == uids[2] != uids[1]
    assert all(int(uid) >= 1000 for uid in uids)


def test_a_folder_or_program_that_the_user_of_a_job_cannot_reach_fails_it_and_names_the_user(
    root_prison: Prison,
) -> None:
    root_prison.needs("local", "users")
    closed = root_prison.folder / "closed"
    closed.mkdir(mode=0o700)
    ended = root_prison.run("local", "true", run={"command": ["true"], "workdir": str(closed)})
    assert ended.exit_code == 126
    assert ended.message.startswith(f"working directory '{closed}' cannot be used by user 2")
    shutil.copy("/bin/true", closed / "program")
    ended = root_prison.run("local", "true", run={"command": [str(closed / "program")]})
    assert ended.message.startswith(f"command '{closed}/program' cannot be run by user 2")
    run = {"command": ["pwd"], "submit_dir": str(closed)}
    note, where = root_prison.run("local", "pwd", run=run).text.splitlines()
    assert note.startswith(
        f"dovetail: {closed}, where it was submitted, cannot be entered on local (permission denied)"
    )
    assert where.endswith("/work")


def test_a_job_kills_nobody_else(cell: Cell) -> None:
    prison, backend = cell
    prison.needs(backend, "processes")
    other = prison.submit(backend, "echo began; exec sleep 1000")
    prison.wait_for_output(other, "began")
    prison.run(backend, f"kill -9 {prison.process.pid}; kill -9 -1; exit 0")
    with prison.client() as client:
        assert client.workload(other)["state"] == "running"
        client.cancel(other)


def test_forking_without_end_stays_within_the_limit_and_ends_when_it_is_cancelled(cell: Cell) -> None:
    prison, backend = cell
    marker = f"bomb-{prison.folder.name}-{backend}"
    bomb = f"bomb() {{ sh -c 'sleep 1000; :' {marker} & bomb & bomb & wait; }}; bomb & exec sleep 1000"
    # The first process forks once and stays: a shell ends when it cannot fork.
    id_ = prison.submit(backend, bomb)
    prison.wait_for_output(id_, "fork")  # the shell complains
    with prison.client() as client:
        wait_for(lambda: client.tasks(id_)[0]["state"] == "running", "it goes on")
        client.cancel(id_)
    prison.end_of(id_)
    assert not process_with(marker)


def test_nothing_survives_a_cancel(cell: Cell) -> None:
    prison, backend = cell
    marker = f"survivor-{prison.folder.name}-{backend}"
    closed = f"(setsid {lasting(marker)} <&- >&- 2>&- &)"
    stubborn = f"trap '' TERM HUP INT; {closed}; ({closed}); echo began; {lasting(marker)}"
    id_ = prison.submit(backend, stubborn)
    prison.wait_for_output(id_, "began")
    wait_for(lambda: process_with(marker))
    with prison.client() as client:
        client.cancel(id_)
    prison.end_of(id_)
    assert not process_with(marker)


def test_a_long_grace_period_does_not_keep_a_job_from_being_killed(cell: Cell) -> None:
    prison, backend = cell
    marker = f"patient-{prison.folder.name}-{backend}"
    id_ = prison.submit(backend, f"trap '' TERM; echo began; {lasting(marker)}", disruption={"grace": "365d"})
    prison.wait_for_output(id_, "began")
    wait_for(lambda: process_with(marker))
    with prison.client() as client:
        client.cancel(id_)
        wait_for(lambda: prison.was_asked_to_stop(backend, id_))
        assert process_with(marker)
        client.cancel(id_, force=True)
    prison.end_of(id_)
    assert not process_with(marker)


def test_a_job_that_fills_its_folder_is_killed_and_told_why(cell: Cell) -> None:
    prison, backend = cell
    ended = prison.run(backend, "mkdir -p a/b; head -c 20000000 /dev/zero > a/b/big; echo wrote; sleep 1000")
    assert ended.message.startswith("killed: its folder used more than the limit of 8MiB")


def test_folders_nested_without_end_are_not_a_way_around_the_limit(cell: Cell) -> None:
    prison, backend = cell
    nested = "i=0; while [ $i -lt 300 ]; do mkdir d && cd d || exit 3; i=$((i+1)); done; sleep 1000"
    assert "its folder used more than" in prison.run(backend, nested).message


def test_output_without_end_is_bounded_and_the_newest_is_kept(cell: Cell) -> None:
    prison, backend = cell
    id_ = prison.submit(backend, "yes flood | head -c 8000000; echo; echo the end")
    ended = prison.end_of(id_)
    assert ended.exit_code == 0
    file = prison.run_folder(backend, id_) / "output.log"
    assert file.stat().st_size > 8_000_000
    assert file.stat().st_blocks * 512 <= 2 * OUTPUT_LIMIT
    with prison.client() as client:
        assert client.logs(id_, tail=1).text == "the end\n"
        assert client.logs(id_).text.startswith("dovetail: ")


def test_a_command_beside_a_job_is_kept_in_as_the_job_is(cell: Cell) -> None:
    prison, backend = cell
    prison.needs(backend, "mounts", "processes")
    id_ = prison.submit(backend, "echo began; id -u; exec sleep 1000")
    prison.wait_for_output(id_, "began")
    text = prison.execute(
        id_, f"id -u; grep NoNew /proc/self/status; cat {prison.data}/secret.key; cat /proc/*/environ"
    )
    with prison.client() as client:
        uid = client.logs(id_).text.split()[1]
        client.cancel(id_)
    assert text.splitlines()[:2] == [uid, "NoNewPrivs:\t1"]
    assert prison.secret not in text


def test_a_job_whose_folder_is_removed_ends_and_is_reported(cell: Cell) -> None:
    prison, backend = cell
    marker = f"removed-{prison.folder.name}-{backend}"
    id_ = prison.submit(backend, f"echo began; {lasting(marker)}")
    prison.wait_for_output(id_, "began")
    shutil.rmtree(prison.run_folder(backend, id_))
    with prison.client() as client:
        client.wait(id_, timeout_s=60)
        assert "its run folder was removed" in client.tasks(id_)[0]["message"]
    wait_for(lambda: not process_with(marker), "the job is gone")


def test_what_is_not_enforced_is_said_at_start_and_by_the_node(cell: Cell) -> None:
    prison, backend = cell
    said = prison.labels(backend).get("unenforced")
    log = [line for line in (prison.folder / "server.log").read_text().splitlines() if f"backend {backend}:" in line]
    assert (said is None) == (not any("does not enforce" in line for line in log))
    if said is not None:
        assert all(each in "\n".join(log) for each in said.split(", "))


def test_as_many_processes_as_allowed_can_run(root_prison: Prison) -> None:
    started = f"i=0; while [ $i -lt {PROCESSES - 10} ]; do sleep 1000 & i=$((i+1)); done; echo all"
    assert root_prison.run("local", started).text == "all\n"
