"""What callmark raises when the input cannot be used: sentences for the person who made the file."""


class BadInput(Exception):  # noqa: N818 - the name is what the user is told
    """The input cannot be used. `str()` is one sentence: file, row, field, what was found, what was expected.

    `hint` is what to do about it, on a line of its own, or empty.
    """

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class BrokenRow(BadInput):
    """A row cannot be read. Whoever reads it may go on without it."""
