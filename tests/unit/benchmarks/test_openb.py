"""The openb replay on a tiny trace of the same form: its reading, its sequence, its protocol."""

import gzip
from pathlib import Path

import pytest
from benchmarks.harness import Bench, NotRun
from benchmarks.openb import ours
from benchmarks.openb_policies import BEST_FIT, OURS, RANDOM
from benchmarks.openb_trace import MARKS, NODES, read_nodes, read_pods, replay, sequence

NODE_LIST = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{i},32000,65536,2,T4\n" for i in range(10))
POD_LIST = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos
p0,4000,1024,1,1000,,LS
p1,2000,1024,1,460,T4|A10,LS
p2,1000,1024,0,0,,LS
p3,4000,1024,2,1000,A10,LS
p4,4000,1024,2,1000,,LS
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / NODES).write_text(NODE_LIST)
    (tmp_path / "openb_pod_list_default.csv.gz").write_bytes(gzip.compress(POD_LIST.encode()))
    return tmp_path


def test_pods_ask_for_what_the_list_says(folder: Path) -> None:
    pods = read_pods(folder, "default")
    assert pods.thousandths == (1000, 460, 0, 2000, 2000)
    assert [ask.gpu_model for ask in pods.asks] == [[], ["T4", "A10"], [], ["A10"], []]


def test_a_sequence_goes_on_until_enough_is_asked_for_and_is_the_same_for_the_same_seed(folder: Path) -> None:
    pods = read_pods(folder, "default")
    one = sequence(pods, 20_000, 42)
    asked = [pods.thousandths[ask] for ask in one]
    assert sum(asked[:-1]) < MARKS[-1] * 20_000 <= sum(asked)
    assert sorted(one[:5]) == [0, 1, 2, 3, 4]
    assert sequence(pods, 20_000, 42) == one != sequence(pods, 20_000, 43)


@pytest.mark.parametrize("profile", [RANDOM, BEST_FIT, OURS], ids=["random", "best_fit", "fragmentation"])
def test_pods_that_fit_nowhere_are_given_up_and_the_rest_counts(folder: Path, profile: object) -> None:
    pods = read_pods(folder, "default")
    asks = sequence(pods, 20_000, 42)
    found = replay(read_nodes(folder), pods, asks, profile, 42)  # type: ignore[arg-type]
    assert found.decisions == len(asks)
    assert 0 < found.allocated[0] <= found.allocated[1] <= 100
    fits = sum(pods.thousandths[ask] for ask in asks if pods.asks[ask].gpu_model != ["A10"])
    assert found.allocated[1] <= 100 * fits / 20_000


def test_without_the_data_it_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(NotRun, match="needs recorded data"):
        next(iter(ours(Bench(tmp_path))))
