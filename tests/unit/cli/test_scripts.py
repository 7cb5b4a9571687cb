"""Scripts with directives: what of them becomes options of a job, and what is named instead of dropped."""

import re
from pathlib import Path

import pytest

from dovetail.cli.terminal.failure import Failure
from dovetail.cli.workloads.clock_time import clock_time, time_limit
from dovetail.cli.workloads.job_options import JobOptions
from dovetail.cli.workloads.sbatch_options import NOT_USED, UNDERSTOOD, listed_options
from dovetail.cli.workloads.scripts import MAX_BYTES, Script, is_script, read_script
from dovetail.model.text.complaint import Invalid

PAGE = Path(__file__).parents[3] / "docs" / "submitting.md"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def script(*lines: str, first: str = "#!/bin/bash", last: str = "echo hi") -> Script:
    Path("job.sh").write_text("\n".join([first, *lines, last, ""]))
    return read_script("job.sh", ["one", "two"])


def test_lines_of_ours_take_the_options_of_submit() -> None:
    found = script(
        "#DOVETAIL --cpu 2 --time 1h  # a comment", "#DOVETAIL --env 'A=two words' -e B=2", "#DOVETAIL -t 2h"
    )
    assert found.options == JobOptions(cpu="2", time="2h", env=["A=two words", "B=2"])
    assert not found.warnings


def test_lines_of_sbatch_become_options_of_a_job() -> None:
    found = script(
        "#SBATCH --job-name=stat -p long",
        "#SBATCH -t 1-12:30 -n 2 -c 4 --mem-per-cpu=2G",
        "#SBATCH --gres=gpu:A100:2",
        "#SBATCH -a 0-9%2 --dependency=afterok:prepare,afterany:clean:sweep",
        "#SBATCH -D /data --export=NONE,SEED=3,MISSING",
    )
    options = found.options
    assert (options.name, options.queue, options.time) == ("stat", "long", "131400s")
    assert (options.cpu, options.memory, options.gpu, options.gpu_model) == ("8", "16GiB", "2", ["A100"])
    assert (options.array, options.workdir) == ("0-9%2", "/data")
    assert options.after == ["prepare:succeeded", "clean:finished", "sweep:finished"]
    assert {"SEED=3", "MISSING=", "SLURM_JOB_NAME=stat", "SLURM_CPUS_PER_TASK=8"} <= set(options.env or [])
    assert not found.warnings


@pytest.mark.parametrize(
    ("line", "gpus"), [("-G 2", ("2", [])), ("--gpus=h100:4", ("4", ["h100"])), ("--gres=gpu", ("1", []))]
)
def test_gpus_are_asked_for_in_several_ways(line: str, gpus: tuple[str, list[str]]) -> None:
    found = script(f"#SBATCH {line}").options
    assert (found.gpu, found.gpu_model or []) == gpus


def test_what_is_not_followed_is_named_with_its_line() -> None:
    found = script(
        "#SBATCH --output=x.log", "#SBATCH --exclusive --licenses=a:2 --export=ALL", last="true\n#SBATCH -n 9"
    )
    assert found.warnings == [
        "job.sh:2: --output is not followed: `dovetail logs` shows the output",
        "job.sh:3: --export=ALL is not followed: name the variables that it needs, as --export=A,B",
        "job.sh:3: not understood and not followed: --exclusive --licenses=a:2",
        "job.sh:5: #SBATCH after the first command is not read; move it up",
    ]


def test_every_wrong_directive_is_an_error_with_its_line() -> None:
    wrong = {
        "#DOVETAIL --cpus 2": "No such option '--cpus'.",
        "#DOVETAIL echo": "unexpected extra argument",
        "#DOVETAIL --help": "No such option '--help'.",
        "#SBATCH --nodes=2": "--nodes=2: a script runs on one node here",
        "#SBATCH -c many": "--cpus-per-task=many: not a whole number above 0",
        "#SBATCH --mem=1X": "1X: not a size of memory",
        "#SBATCH --time=soon": "soon: not a time",
        "#SBATCH --gres=fpga:1": "only gpu:N and gpu:MODEL:N are understood",
        "#SBATCH -d afterok:1234": "with names of workloads",
        "#SBATCH -d singleton": "with names of workloads",
        "#SBATCH --time": "expected one argument",
        "#SBATCH --comment='x": "No closing quotation",
    }
    with pytest.raises(Invalid) as caught:
        script(*wrong)
    assert len(caught.value.complaints) == len(wrong)
    for line, (complaint, words) in enumerate(zip(caught.value.complaints, wrong.values(), strict=True), start=2):
        assert str(complaint).startswith(f"job.sh:{line}: #")
        assert words in str(complaint)


def test_the_command_line_wins_over_our_lines_and_those_over_sbatch() -> None:
    found = script("#SBATCH -c 1 --mem=1G -J slurm", "#DOVETAIL --cpu 2 --memory 2GiB --label a=1").options
    both = JobOptions(cpu="3", label=["a=2"]).over(found)
    assert (both.cpu, both.memory, both.name) == ("3", "2GiB", "slurm")
    assert both.workload()["labels"] == {"a": "2"}


def test_the_text_is_sent_and_runs_under_its_interpreter() -> None:
    text = "#!/bin/bash -e\necho hi\n"
    assert script(first="#!/bin/bash -e").command == ["/bin/bash", "-e", "-c", text, "job.sh", "one", "two"]
    python = script(first="#!/usr/bin/env -S python3.12 -u").command
    assert python[:3] == ["/usr/bin/env", "python3.12", "-u"]
    assert python[3] == "-c"
    assert python[5:] == ["one", "two"]
    with pytest.raises(Failure, match="awk takes no script as an argument"):
        script(first="#!/usr/bin/awk -f")
    with pytest.raises(Failure, match=f"longer than {MAX_BYTES} bytes"):
        script(last="#" * MAX_BYTES)


def test_a_file_is_a_script_if_it_has_directives_or_cannot_be_run_by_itself() -> None:
    plain, directed, other = Path("plain"), Path("directed"), Path("other")
    plain.write_text("#!/bin/sh\ntrue\n")
    directed.write_text("#!/bin/sh\n#DOVETAIL --cpu 1\n")
    other.write_bytes(b"\x7fELF\0\0")
    assert is_script("plain")
    for path in (plain, directed, other):
        path.chmod(0o755)
    assert [is_script(name) for name in ("plain", "directed", "other", "missing")] == [False, True, False, False]
    Path("x.sh").write_text("true\n")
    with pytest.raises(Failure, match="write #!/bin/bash there"):
        is_script("x.sh")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("5:30", 330), ("1:00:01", 3601), ("2-0", 172_800), ("1-1:30", 91_800), ("1-1:30:05", 91_805)],
)
def test_times_of_slurm_are_read(text: str, seconds: int) -> None:
    assert clock_time(text) == f"{seconds}s"


def test_a_time_limit_without_a_unit_is_refused() -> None:
    assert (time_limit("1h30m"), time_limit("1:00:00")) == ("1h30m", "3600s")
    for text, words in {"30": "write 30m for minutes", "x9": "not a time", "1:2:3:4": "not a time"}.items():
        with pytest.raises(Failure, match=words):
            time_limit(text)


def test_the_page_and_the_command_list_the_same_options_of_sbatch() -> None:
    rows = re.findall(r"^\| `(--[^`]+)`", PAGE.read_text().partition("| of `#SBATCH`")[2], re.MULTILINE)
    understood = [", ".join(option.names) + f" {option.metavar}" for option in UNDERSTOOD]
    assert rows == [*understood, *(", ".join(names) for names in NOT_USED)]
    listed = listed_options()
    assert all(row in listed for row in rows)
    assert max(map(len, listed.splitlines())) <= 80
