"""What callmark raises: sentences for the person who made the file, wrote the evaluator or chose the folder."""


class CallmarkError(Exception):
    """Base of everything that callmark raises on purpose. `str()` is one sentence: file, row, field, what was found, what was expected.

    `hint` is what to do about it, on a line of its own, or empty.
    """

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class BadInput(CallmarkError):  # noqa: N818 - the name is what the user is told
    """The input cannot be used."""


class BrokenRow(BadInput):
    """A row cannot be read. A reader may continue without it."""


class EvaluatorError(CallmarkError):
    """An evaluator raised, or returned something else than it declares, for one case."""


class StorageError(CallmarkError):
    """A file or folder cannot be written: no permission, no space, a read-only disk."""
