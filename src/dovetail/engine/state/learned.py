"""What the engine learned: run times, how slow nodes are, how wrong predictions were, the workload mix."""

import json
from collections.abc import Iterator

from dovetail.cluster.state import Cluster
from dovetail.engine.state.memory import Remembered
from dovetail.engine.state.workload_mix import WorkloadMix
from dovetail.queueing.run_times import RunTimes, UsualTimes
from dovetail.queueing.start_error import Calibration


class Learned:
    def __init__(self, cluster: Cluster) -> None:
        self.run_times = RunTimes()
        self.usual_times = UsualTimes()
        self.calibration = Calibration()
        self.mix = WorkloadMix(cluster)
        self.expected_starts: dict[int, tuple[float, float]] = {}  # by workload: when predicted, predicted start
        self.sampled_at = 0.0
        self.parked_since_sample = 0  # workloads parked since then

    def parts(self) -> Iterator[Remembered]:
        yield Remembered("calibration", lambda _: json.dumps(self.calibration.to_json()), self._read_calibration)
        yield Remembered("run_times", lambda _: json.dumps(self.run_times.to_json()), self._read_run_times)
        yield Remembered("usual_times", lambda _: json.dumps(self.usual_times.to_json()), self._read_usual_times)
        yield Remembered("workload_mix", lambda _: json.dumps(self.mix.memory()), self._read_mix)

    def _read_calibration(self, text: str) -> None:
        self.calibration = Calibration.from_json(json.loads(text))

    def _read_run_times(self, text: str) -> None:
        self.run_times = RunTimes.from_json(json.loads(text))

    def _read_usual_times(self, text: str) -> None:
        self.usual_times = UsualTimes.from_json(json.loads(text))

    def _read_mix(self, text: str) -> None:
        self.mix.recall(json.loads(text))
