"""The evaluator `call` as one file without dependencies, for services that take a Python grader, such as Foundry."""


def export_source() -> str:
    """The text of the grader: `source.py` as it stands, which defines `grade(sample, item) -> float`.

    It holds no patterns of its own; a `$regex` in an item is refused by name when the grader runs.
    """
    from importlib.resources import files

    return files("callmark.grading.standalone").joinpath("source.py").read_text(encoding="utf-8")
