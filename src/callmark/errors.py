"""The exceptions that callmark raises."""


class CallmarkError(Exception):
    """Base class of every error that callmark raises on purpose.

    Catch this class to handle all of them. `str(error)` names the file, the row, the field, what was found and what was expected.

    Attributes:
        hint: What to do about it, in a separate sentence; empty if there is no advice.
    """

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class BadInput(CallmarkError):  # noqa: N818 - a short name for the most frequent error
    """The input cannot be used: a missing file, an unknown name, an option with an invalid value."""


class BrokenRow(BadInput):
    """One row of a file cannot be read or written. A reader that skips bad rows continues with the next one."""


class EvaluatorError(CallmarkError):
    """An evaluator raised an exception for one case, or returned something other than the metrics it declares."""


class StorageError(CallmarkError):
    """A file or folder cannot be written: no permission, no space left, a read-only disk."""
