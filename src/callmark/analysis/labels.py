"""How metrics and categories are named for people: in the terminal and on the page alike."""

from callmark.grading.evaluator import Metric
from callmark.wording import mark_heuristic


def metric_label(name: str, definition: Metric | None) -> str:
    """Return the label of a metric, by its full name, without the name of its evaluator; a heuristic is marked.

    Without a definition, the label is made from the name.
    """
    evaluator, _, metric = name.rpartition(".")
    if definition is None:
        return metric.replace("_", " ")
    return mark_heuristic(definition.label.removeprefix(f"{evaluator} "), definition.heuristic)


def pooled_label(name: str, definition: Metric | None) -> str:
    """Return the label of a metric that is pooled over a run: `pooled precision`."""
    return f"pooled {metric_label(name, definition)}"


def category_label(category: str) -> str:
    """Return a category in words: `no call` for `no_call`."""
    return category.replace("_", " ")
