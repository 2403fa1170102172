"""How far a user's tasks have come."""

from collections.abc import Sequence
from typing import Any, Self

from msgspec import Struct

from callmark.simulation.users.rule_based.tasks import Slot, Task, written


class Matter(Struct):
    """How far one task has come. `told` has what was said of it, `asked` and `corrected` how often each was."""

    task: Task
    wanted: dict[str, Any]
    pending: dict[str, Any]
    raised: bool = False
    told: set[str] = set()
    asked: dict[str, int] = {}
    corrected: dict[str, int] = {}
    insisted: bool = False
    confirmed: bool = False
    reminded: bool = False
    over: bool = False

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, {name: slot.value for name, slot in task.slots.items()}, dict(task.changes))

    def text(self, name: str) -> str:
        return written(self.wanted[name])

    def pairs(self, names: Sequence[str]) -> list[tuple[Slot, str]]:
        return [(self.task.slots[name], self.text(name)) for name in names]

    @property
    def untold(self) -> list[str]:
        return [name for name in self.task.slots if name not in self.told]
