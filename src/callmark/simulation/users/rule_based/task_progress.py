"""The progress of a user in its tasks."""

from collections.abc import Sequence
from typing import Any, Self

from msgspec import Struct

from callmark.simulation.users.rule_based.tasks import Slot, Task, format_value


class TaskProgress(Struct):
    """The progress of one task: the slots that the user has said, and how often each was asked for and corrected."""

    task: Task
    values: dict[str, Any]
    pending_changes: dict[str, Any]
    is_raised: bool = False
    informed: set[str] = set()
    stated_facts: set[str] = set()
    times_asked: dict[str, int] = {}
    times_corrected: dict[str, int] = {}
    has_insisted: bool = False
    is_confirmed: bool = False
    was_reminded: bool = False
    is_over: bool = False

    @classmethod
    def from_task(cls, task: Task) -> Self:
        """Return the progress of a task that has not been raised."""
        return cls(task, {name: slot.value for name, slot in task.slots.items()}, dict(task.changes))

    def text(self, name: str) -> str:
        """Return the current value of a slot as text."""
        return format_value(self.values[name])

    def slot_values(self, names: Sequence[str]) -> list[tuple[Slot, str]]:
        """Return slots with their current values."""
        return [(self.task.slots[name], self.text(name)) for name in names]

    @property
    def uninformed(self) -> list[str]:
        """Return the slots that the user has not said yet."""
        return [name for name in self.task.slots if name not in self.informed]
