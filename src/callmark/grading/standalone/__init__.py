"""The evaluator `call` as one file that needs nothing but the standard library, for services that ask for a Python grader (document 001)."""


def export_source() -> str:
    """The text of the grader: `source.py` as it stands, which defines `grade(sample, item) -> float`.

    It holds no patterns of its own; a `$regex` in an item is refused by name when the grader runs.
    """
    from importlib.resources import files

    return files("callmark.grading.standalone").joinpath("source.py").read_text(encoding="utf-8")
