"""The engine plays batch jobs as the published protocol does: compared with a plain simulator, job by job."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.simulate.batch import BatchReplay
from dovetail.simulate.policies import POLICIES, Backfill
from dovetail.simulate.swf import BatchJob

PROCESSORS = 8


def key(policy: str, job: BatchJob) -> float:
    if policy == "fcfs":
        return job.submit_s
    if policy == "sjf":
        return job.requested_s
    return math.log10(max(job.requested_s, 1)) * job.processors + 870 * math.log10(max(job.submit_s, 1))


class Plain:
    """The protocol in its simplest form: lists, searched from end to end."""

    def __init__(self, jobs: Sequence[BatchJob], policy: str, backfill: bool) -> None:
        self.jobs, self.policy, self.backfill = jobs, policy, backfill
        self.now, self.free, self.arrived = 0.0, PROCESSORS, 0
        self.queue: list[int] = []
        self.running: list[int] = []  # in the order of their starts
        self.starts = [math.nan] * len(jobs)

    def run(self) -> list[float]:
        while self.queue or self.arrived < len(self.jobs):
            if not self.queue:
                self.event()
                continue
            head = min(self.queue, key=lambda job: (key(self.policy, self.jobs[job]), job))
            if self.jobs[head].processors > self.free:
                self.wait_for_room(head)
            self.start(head)
        return self.starts

    def wait_for_room(self, head: int) -> None:
        reserved = self.reservation(head)
        while self.jobs[head].processors > self.free:
            if self.backfill:
                for job in list(self.queue):
                    fits = self.jobs[job].processors <= self.free
                    if fits and self.now + self.jobs[job].requested_s < reserved:
                        self.start(job)
            self.event()

    def reservation(self, head: int) -> float:
        """Made once, and never again while it waits."""
        free = self.free
        for end, job in sorted((self.starts[job] + self.jobs[job].requested_s, job) for job in self.running):
            free += self.jobs[job].processors
            if free >= self.jobs[head].processors:
                return end
        raise AssertionError("the machine is too small")

    def start(self, job: int) -> None:
        self.queue.remove(job)
        self.running.append(job)
        self.free -= self.jobs[job].processors
        self.starts[job] = self.now

    def event(self) -> None:
        """One arrival or one end, never two things at once."""
        first = min(self.running, key=self.end, default=None)
        arrival = self.jobs[self.arrived].submit_s if self.arrived < len(self.jobs) else math.inf
        if first is None or arrival <= self.end(first):
            self.now = arrival
            self.queue.append(self.arrived)
            self.arrived += 1
        else:
            self.now = self.end(first)
            self.running.remove(first)
            self.free += self.jobs[first].processors

    def end(self, job: int) -> float:
        return self.starts[job] + self.jobs[job].run_s


@st.composite
def logs(draw: st.DrawFn) -> list[BatchJob]:
    """Small numbers, so that ends, arrivals and estimates often fall on the same moment."""
    found, submit_s = [], 0
    for number in range(draw(st.integers(1, 40))):
        submit_s += draw(st.sampled_from((0, 0, 1, 2, 5)))
        run_s = draw(st.integers(1, 20))
        requested_s = draw(st.one_of(st.just(run_s), st.integers(1, 25)))  # often over-asked, sometimes exceeded
        processors = draw(st.integers(1, PROCESSORS))
        found.append(BatchJob(number, submit_s, run_s, requested_s, processors, f"u{number % 3}"))
    return found


@pytest.mark.parametrize("policy", ["fcfs", "sjf", "f1"])
@pytest.mark.parametrize("backfill", ["none", "easy"])
@examples(20)
@given(jobs=logs())
def test_every_job_starts_when_the_plain_simulator_starts_it(
    policy: str, backfill: Backfill, jobs: list[BatchJob]
) -> None:
    expected = Plain(jobs, policy, backfill == "easy").run()
    assert BatchReplay(jobs, PROCESSORS, POLICIES[policy].settings(backfill)).run() == expected
