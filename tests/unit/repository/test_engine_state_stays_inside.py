"""What adapts Kubernetes reaches the engine by events and questions alone; import-linter cannot see attributes."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "src" / "dovetail" / "kubernetes"


def test_nothing_of_kubernetes_touches_the_engine_s_state() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(r"engine\.state\b|\._state\b", line)
    ]
    assert not found
