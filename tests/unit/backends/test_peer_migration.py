"""Where a VM is while it moves between two hypervisors, from what both say."""

import pytest

from dovetail.backends.peer_migration import SURE_AFTER_LOOKS, MachinePresence, Whereabouts, whereabouts

SENDING = MachinePresence("running", moving=True)


def there(power: str | None) -> MachinePresence:
    return MachinePresence(power)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (SENDING, there("paused"), Whereabouts.UNCERTAIN),
        (there("running"), there(None), Whereabouts.SOURCE),
        (there("running"), None, Whereabouts.SOURCE),
        (there("running"), there("paused"), Whereabouts.SOURCE),
        (there(None), there("running"), Whereabouts.TARGET),
        (there("off"), there("running"), Whereabouts.TARGET),
        (there("paused"), there("running"), Whereabouts.TARGET),
        (there(None), there("panicked"), Whereabouts.TARGET),
        (there("paused"), there("paused"), Whereabouts.SOURCE),
        (there("paused"), None, Whereabouts.UNCERTAIN),
        (there("off"), there(None), Whereabouts.SOURCE),
        (there(None), there("off"), Whereabouts.SOURCE),
        (there(None), None, Whereabouts.UNCERTAIN),
        (None, there(None), Whereabouts.UNCERTAIN),
        (None, None, Whereabouts.UNCERTAIN),
        (None, there("running"), Whereabouts.UNCERTAIN),
    ],
)
def test_where_it_is(source: MachinePresence | None, target: MachinePresence | None, expected: Whereabouts) -> None:
    assert whereabouts(source, target, surely_sent=False, looks=1) is expected


def test_a_target_is_believed_without_the_source_only_if_the_source_was_told_to_send_it() -> None:
    assert whereabouts(None, there("running"), surely_sent=True, looks=1) is Whereabouts.TARGET
    assert whereabouts(None, there("paused"), surely_sent=True, looks=100) is Whereabouts.UNCERTAIN


def test_a_vm_that_was_paused_arrives_paused() -> None:
    gone, paused = there(None), there("paused")
    assert whereabouts(gone, paused, surely_sent=True, looks=1) is Whereabouts.UNCERTAIN
    assert whereabouts(gone, paused, surely_sent=True, looks=SURE_AFTER_LOOKS + 1) is Whereabouts.TARGET
