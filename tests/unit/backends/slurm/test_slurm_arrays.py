"""Arrays: elements are told apart, jobs are found by their names, and what goes to one place goes out as one."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.backends.batch.bundling import Bundler, array_of
from dovetail.backends.batch.driver import Rejected
from dovetail.backends.batch.naming import JobNames, has_element, listed, matching
from dovetail.backends.batch.record import JobId
from dovetail.backends.slurm.driver import JobSubmission, SlurmFault
from dovetail.backends.slurm.job_record import JobRecord

NAMES = JobNames("dovetail-ab12-")
TOGETHER = JobSubmission(
    name="dovetail-ab12-7.x.1", script="script", comment="", output="", workdir="", cpus=1, memory_mib=100
)


def alone(element: int) -> JobSubmission:
    return replace(TOGETHER, name=f"dovetail-ab12-7.{element}.1")


# --- elements ----------------------------------------------------------------------------------------------------


@given(elements=st.sets(st.integers(0, 50), min_size=1))
def test_a_list_of_elements_has_exactly_those(elements: set[int]) -> None:
    assert {number for number in range(60) if has_element(listed(elements), number)} == elements


@pytest.mark.parametrize(
    ("text", "there"),
    [("0-6:3,9%4", [0, 3, 6, 9]), ("[2-4]", [2, 3, 4]), ("", []), ("1,3,...", [1, 3, 4, 5, 6, 7, 8, 9, 10])],
)
def test_lists_as_slurm_writes_them_are_understood(text: str, there: list[int]) -> None:
    assert [number for number in range(11) if has_element(text, number)] == there


def test_an_element_is_found_whether_it_waits_with_others_or_runs_by_itself() -> None:
    waiting = JobRecord(4, "x", "PENDING", array=4, elements="2-9")
    running = JobRecord(6, "x", "RUNNING", array=4, elements="0")
    plain = JobRecord(8, "y", "RUNNING")
    wanted = {JobId(4, 0): running, JobId(4, 5): waiting, JobId(8): plain}
    assert matching([waiting, running, plain], [*wanted, JobId(4, 1), JobId(9), JobId(8, 0)]) == wanted


# --- names -------------------------------------------------------------------------------------------------------


def test_a_job_belongs_to_a_key_by_its_name_and_in_an_array_by_its_number() -> None:
    element = JobRecord(6, NAMES.together("7.3.1"), "RUNNING", array=4, elements="3")
    assert NAMES.job_of("7.3.1", element) == JobId(4, 3)
    assert NAMES.job_of("7.3.2", element) is NAMES.job_of("7.4.1", element) is None
    assert NAMES.job_of("7.3.1", replace(element, array=0)) is None
    assert NAMES.job_of("7.3.1", JobRecord(5, NAMES.alone("7.3.1"), "RUNNING")) == JobId(5)
    assert NAMES.job_of("7.3.1", JobRecord(5, "dovetail-other-7.3.1", "RUNNING")) is None


# --- going out together ------------------------------------------------------------------------------------------


class Controller:
    """Takes submissions as Slurm does, and refuses arrays where it is told to."""

    def __init__(self, *, refuses_arrays: bool = False, broken: bool = False) -> None:
        self.taken: list[JobSubmission] = []
        self.refuses_arrays, self.broken = refuses_arrays, broken

    async def submit(self, submission: JobSubmission) -> int:
        if self.broken:
            raise SlurmFault("no answer")
        if submission.array is not None and self.refuses_arrays:
            raise Rejected("Invalid job array specification")
        self.taken.append(submission)
        return len(self.taken)


def sent(controller: Controller, *elements: int, within_s: float = 0.01) -> list[JobId | BaseException]:
    async def scene() -> list[JobId | BaseException]:
        bundler = Bundler(controller.submit, within_s)
        calls = (bundler.send(alone(element), array_of(TOGETHER), element) for element in elements)
        found = await asyncio.gather(*calls, return_exceptions=True)
        await bundler.close()
        return found

    return asyncio.run(scene())


def test_what_comes_at_once_is_one_array_and_what_is_alone_is_none() -> None:
    controller = Controller()
    assert sent(controller, 0, 1, 5) == [JobId(1, 0), JobId(1, 1), JobId(1, 5)]
    assert controller.taken == [replace(TOGETHER, array="0-1,5")]
    assert sent(controller, 3) == [JobId(2)]
    assert controller.taken[1] == alone(3)
    assert sent(controller, 6, 7, within_s=0) == [JobId(3), JobId(4)]


def test_an_array_that_slurm_refuses_is_tried_one_by_one() -> None:
    controller = Controller(refuses_arrays=True)
    assert sent(controller, 0, 2000) == [JobId(1), JobId(2)]
    assert controller.taken == [alone(0), alone(2000)]


def test_everybody_is_told_what_went_wrong() -> None:
    found = sent(Controller(broken=True), 0, 1)
    assert [str(error) for error in found] == ["no answer", "no answer"]


def test_whoever_gives_up_in_time_gets_no_job_and_the_others_do() -> None:
    controller = Controller()

    async def scene() -> None:
        bundler = Bundler(controller.submit, 0.05)
        calls = [
            asyncio.ensure_future(bundler.send(alone(element), array_of(TOGETHER), element)) for element in range(3)
        ]
        await asyncio.sleep(0)
        calls[1].cancel()
        assert await calls[0] == JobId(1, 0)
        assert await calls[2] == JobId(1, 2)
        waiting = asyncio.ensure_future(bundler.send(alone(4), array_of(TOGETHER), 4))
        await asyncio.sleep(0)
        await bundler.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scene())
    assert [one.array for one in controller.taken] == ["0,2"]
