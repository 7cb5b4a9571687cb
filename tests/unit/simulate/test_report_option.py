"""`--report` of `dovetail simulate`: of a scenario and of a batch log."""

from pathlib import Path

from click.testing import CliRunner

from dovetail.cli.main import app

SCENARIO = "cluster: {groups: [{prefix: n, count: 2}]}\nworkloads: [{name: a, run: {simulate: {run_time: 5s}}}]\n"


def simulate(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["simulate", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_scenario_has_a_report_of_its_profiles(tmp_path: Path) -> None:
    (tmp_path / "day.yaml").write_text(SCENARIO)
    page = tmp_path / "page.html"
    plain = simulate(str(tmp_path / "day.yaml"), "-p", "balanced", "-p", "best_fit", "-o", "json")
    assert simulate(str(tmp_path / "day.yaml"), "-p", "balanced", "-p", "best_fit", "--report", str(page))
    assert "Simulation of day.yaml" in page.read_text()
    assert "best_fit" in page.read_text()
    assert simulate(str(tmp_path / "day.yaml"), "-p", "balanced", "-p", "best_fit", "-o", "json") == plain


def test_a_batch_log_has_a_report_with_confidence_over_sequences(tmp_path: Path) -> None:
    jobs = [f"{i} {i * 9} -1 {50 + i % 5 * 20} 2 -1 -1 2 300 -1 1 {i % 2} 1 1 1 1 -1 -1" for i in range(120)]
    (tmp_path / "log.swf").write_text("; MaxProcs: 4\n" + "\n".join(jobs) + "\n")
    page = tmp_path / "page.html"
    simulate("swf", str(tmp_path / "log.swf"), "--length", "30", "--sequences", "3", "--report", str(page))
    assert "2 variants, 3 seeds each" in page.read_text()


def test_a_report_that_cannot_be_written_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "day.yaml").write_text(SCENARIO)
    result = CliRunner().invoke(
        app, ["simulate", str(tmp_path / "day.yaml"), "--report", str(tmp_path / "no" / "r.html")]
    )
    assert result.exit_code == 2
    assert "--report: " in result.stderr
