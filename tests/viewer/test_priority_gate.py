"""What somebody waits for goes first."""

from threading import Event, Thread

import pytest

from callmark.viewer.priority_gate import PriorityGate


def test_nobody_waits_for_nothing() -> None:
    PriorityGate().give_way()


def test_what_can_wait_goes_on_when_everything_else_is_done() -> None:
    precedence, gone_on = PriorityGate(), Event()

    def count() -> None:
        precedence.give_way()
        gone_on.set()

    with precedence:
        with precedence:
            Thread(target=count, daemon=True).start()
            assert not gone_on.wait(0.05)
        assert not gone_on.wait(0.05)  # one of two is done
    assert gone_on.wait(5)


def test_what_fails_is_not_waited_for() -> None:
    precedence = PriorityGate()
    with pytest.raises(ValueError, match="no"), precedence:
        raise ValueError("no")
    precedence.give_way()
