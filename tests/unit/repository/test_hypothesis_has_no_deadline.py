"""Property tests pass on slow machines too."""

from hypothesis import settings


def test_settings_of_properties_are_without_a_deadline_whatever_else_they_say() -> None:
    assert settings().deadline is None
    assert settings(max_examples=5).deadline is None
