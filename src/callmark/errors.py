"""Exceptions. Each message is a sentence for the person who made the file, wrote the evaluator or chose the folder."""


class CallmarkError(Exception):
    """Base of all errors that callmark raises. `str()` is one sentence: file, row, field, what was found, what was expected.

    `hint` is what to do about it, on a line of its own, or empty.
    """

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class BadInput(CallmarkError):  # noqa: N818 - a short name for the most frequent error
    """The input cannot be used."""


class BrokenRow(BadInput):
    """A row cannot be read. A reader may continue without it."""


class EvaluatorError(CallmarkError):
    """An evaluator raised, or returned something else than it declares, for one case."""


class StorageError(CallmarkError):
    """A file or folder cannot be written: no permission, no space, a read-only disk."""
