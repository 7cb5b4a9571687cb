"""Batch logs: what is read, what is left out, what is said of a bad one, and where sequences begin."""

import gzip

import pytest

from dovetail.model.text.complaint import Invalid
from dovetail.simulate.swf import BatchJob, BatchLog, TooShort, offsets, read_swf, sequences

HEADER = "; Version: 2.2\n; Computer: made up\n; MaxNodes: 4\n; MaxProcs: 8\n"


def line(
    number: int, submit: float, run: float, allocated: int, asked: int = -1, time: float = -1, user: int = -1
) -> str:
    return f" {number} {submit} -1 {run} {allocated} -1 -1 {asked} {time} -1 1 {user} -1 -1 0 -1 -1 -1\n"


def read(*lines: str, header: str = HEADER) -> BatchLog:
    return read_swf((header + "".join(lines)).encode(), "log.swf")


def test_a_job_is_read_with_the_larger_of_allocated_and_requested_processors() -> None:
    log = read(line(7, 100, 30, 2, asked=4, time=60, user=12), line(8, 110, 5, 3))
    assert log.processors == 8
    assert log.jobs == (BatchJob(7, 100.0, 30.0, 60.0, 4, "u12"), BatchJob(8, 110.0, 5.0, 5.0, 3, None))


def test_a_requested_time_below_the_run_time_stays_as_it_is() -> None:
    assert read(line(1, 0, 100, 1, time=60)).jobs[0].requested_s == 60


def test_what_ran_without_noted_processors_had_one() -> None:
    assert read(line(1, 0, 100, -1)).jobs[0].processors == 1


def test_jobs_that_never_ran_or_ask_for_too_much_are_left_out_and_counted() -> None:
    log = read(line(1, 0, 0, 1), line(2, 0, -1, 1), line(3, 1, 10, 9), line(4, 2, 10, 8))
    assert [job.number for job in log.jobs] == [4]
    assert log.left_out == 3


def test_jobs_come_in_the_order_of_submission_and_equal_moments_in_that_of_the_file() -> None:
    log = read(line(1, 5, 1, 1), line(2, 3, 1, 1), line(3, 5, 1, 1), line(4, 3, 1, 1))
    assert [job.number for job in log.jobs] == [2, 4, 1, 3]


def test_without_processors_in_the_header_nodes_count_and_gzip_is_unpacked() -> None:
    text = "; MaxNodes: 4\n" + line(1, 0, 10, 4)
    assert read_swf(gzip.compress(text.encode()), "log.swf.gz").processors == 4


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "log: holds no job"),
        (HEADER.encode(), "log: holds no job"),
        (b"cluster: {}\n", "log:1: is no job of the Standard Workload Format: it has 2 words, a job has 18 numbers"),
        (HEADER.encode() + line(1, 0, 10, 1).replace("10", "ten").encode(), "log:5: run time: 'ten' is not a number"),
        (HEADER.encode() + line(1, 0, float("nan"), 1).encode(), "log:5: run time: 'nan' is not a number"),
        (HEADER.encode() + line(1, 0, 1e12, 1).encode(), "log:5: run time: '1000000000000.0' is more seconds than"),
        (line(1, 0, 10, 1).encode(), "log: the header does not say how many processors"),
        (HEADER.encode() + line(1, 0, 0, 1).encode(), "log: none of its 1 jobs ran on at most 8 processors"),
        (b"\x7fELF\0\0\0", "log: is not text"),
        (b"\x1f\x8bnonsense", "log: cannot be unpacked"),
    ],
)
def test_a_bad_log_is_said_in_one_line_with_its_place(text: bytes, complaint: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_swf(text, "log")
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


# --- sequences ---------------------------------------------------------------------------------------------------


def test_sequences_begin_where_the_published_ones_did() -> None:
    assert offsets(10_000, 10, 1024, 1) == [1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085]


def test_another_seed_draws_other_places_and_the_same_seed_the_same() -> None:
    assert offsets(10_000, 10, 1024, 2) == offsets(10_000, 10, 1024, 2)
    assert offsets(10_000, 10, 1024, 2) != offsets(10_000, 10, 1024, 1)


def test_a_sequence_is_consecutive_jobs_of_the_log() -> None:
    log = read(*(line(number, number, 1, 1) for number in range(100)))
    for jobs in sequences(log, 5, 10, 3):
        numbers = [job.number for job in jobs]
        assert numbers == list(range(numbers[0], numbers[0] + 10))


@pytest.mark.parametrize(
    ("jobs", "length", "words"),
    [(5, 6, "a sequence of 6 jobs is longer than the log, which has 5"), (12, 6, "take at most 5, or the whole log")],
)
def test_a_log_that_is_too_short_says_what_would_do(jobs: int, length: int, words: str) -> None:
    with pytest.raises(TooShort, match=words):
        offsets(jobs, 1, length, 1)


def test_the_longest_length_that_is_advised_can_be_drawn() -> None:
    assert offsets(12, 1, 5, 1) == [5]
