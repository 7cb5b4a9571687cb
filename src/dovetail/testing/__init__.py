"""Tests that other packages can inherit: what every backend must do.

    from dovetail.testing.conformance import BackendConformance, Subject

Needs pytest, which comes with the extra `testing` (`pip install 'dovetail-scheduler[testing]'`). Nothing else in
Dovetail imports this package. `docs/writing-a-backend.md` explains its use.
"""

import pytest

# Before they are imported, so that a failing assertion shows the values of both sides.
pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("conformance", "lifecycle", "restart", "truth", "races", "trouble"))
)
