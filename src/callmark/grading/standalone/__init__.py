"""The evaluator `call` as one file without dependencies, for evaluation services that accept a Python grader, such as Foundry."""


def export_source() -> str:
    """Return the source of the grader, `source.py`, which defines `grade(sample, item) -> float`.

    It does not support `$regex`: an item with one raises an error that names it when the grader runs.
    """
    from importlib.resources import files

    return files("callmark.grading.standalone").joinpath("source.py").read_text(encoding="utf-8")
