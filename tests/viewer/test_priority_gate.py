"""Urgent work runs before background work."""

from threading import Event, Thread

import pytest

from callmark.viewer.priority_gate import PriorityGate


def test_background_work_does_not_wait_without_urgent_work() -> None:
    PriorityGate().wait_until_idle()


def test_background_work_continues_when_all_urgent_work_is_done() -> None:
    gate, continued = PriorityGate(), Event()

    def work() -> None:
        gate.wait_until_idle()
        continued.set()

    with gate:
        with gate:
            Thread(target=work, daemon=True).start()
            assert not continued.wait(0.05)
        assert not continued.wait(0.05)  # one of two is done
    assert continued.wait(5)


def test_failed_urgent_work_does_not_block_background_work() -> None:
    gate = PriorityGate()
    with pytest.raises(ValueError, match="no"), gate:
        raise ValueError("no")
    gate.wait_until_idle()
