"""Tests that other packages can inherit: what every backend must do.

    from dovetail.testing.conformance import BackendConformance, Subject

Needs pytest, which comes with the extra `testing` (`pip install dovetail[testing]`); nothing else in Dovetail imports
this room. `docs/writing-a-backend.md` says how to use it.
"""

import pytest

# Before any of them is imported, so that a failing assertion in them says what the two sides were.
pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("conformance", "lifecycle", "restart", "truth", "races", "trouble"))
)
