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
        yield self._part("calibration", Calibration)
        yield self._part("run_times", RunTimes)
        yield self._part("usual_times", UsualTimes)
        yield Remembered("workload_mix", lambda _: json.dumps(self.mix.memory()), self._read_mix)

    def _part(self, name: str, kind: type[Calibration] | type[RunTimes] | type[UsualTimes]) -> Remembered:
        def read(text: str) -> None:
            setattr(self, name, kind.from_json(json.loads(text)))

        return Remembered(name, lambda _: json.dumps(getattr(self, name).to_json()), read)

    def _read_mix(self, text: str) -> None:
        self.mix.recall(json.loads(text))
