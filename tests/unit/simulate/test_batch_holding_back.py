"""The order `batch` in the engine: work that fits is held back while short work keeps coming, and starts later."""

from dovetail.engine.questions.questions import Questions
from dovetail.simulate.batch import BatchReplay
from dovetail.simulate.policies import POLICIES
from dovetail.simulate.swf import BatchJob

HOUR_S = 3600.0


def job(submit_s: float, run_s: float, processors: int) -> BatchJob:
    return BatchJob(0, submit_s, run_s, run_s, processors, "u1")


#: Full-width jobs that have to wait for each other, then one short job a minute.
BEFORE = [*(job(0, 10, 10) for _ in range(10)), *(job(120 + 60 * minute, 10, 1) for minute in range(240))]
HALF, LONG = job(4.5 * HOUR_S, HOUR_S, 5), job(4.5 * HOUR_S + 1, 10 * HOUR_S, 5)
SHORT = [job(4.5 * HOUR_S + 2 + 60 * minute, 10, 1) for minute in range(180)]


def played(jobs: list[BatchJob]) -> tuple[list[float], list[str]]:
    """When the jobs started, and what was said of the long one after each submission."""
    said: list[str] = []

    def note(_: Questions, workload: int, __: float) -> None:
        work = replay.engine._state.work.get(jobs.index(LONG) + 1)
        said.append(work.message if work is not None else "")

    policy = POLICIES["dovetail"]
    replay = BatchReplay(jobs, 10, policy.settings("easy"), note, by_moment=policy.by_moment)
    return replay.run(), said


def test_long_work_that_would_fill_the_machine_waits_for_the_next_end_and_short_work_does_not_wait() -> None:
    jobs = [*BEFORE, HALF, LONG, *SHORT]
    starts, said = played(jobs)
    first_short = jobs.index(SHORT[0])
    assert starts[jobs.index(HALF)] == HALF.submit_s
    assert starts[jobs.index(LONG)] == HALF.submit_s + HALF.run_s
    assert starts[first_short:] == [one.submit_s for one in SHORT]
    assert "short work is expected and would profit more" in said[first_short]


def test_it_starts_at_once_where_no_short_work_comes() -> None:
    jobs = [job(0, 10 * HOUR_S, 1) for _ in range(30)]
    jobs += [one._replace(submit_s=one.submit_s + 100 * HOUR_S) for one in (HALF, LONG)]
    starts = BatchReplay(jobs, 10, POLICIES["dovetail"].settings("easy"), by_moment=True).run()
    assert starts[-2:] == [one.submit_s for one in jobs[-2:]]
