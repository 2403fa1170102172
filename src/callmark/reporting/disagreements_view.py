"""Print where evaluators disagree: a line for each group, with its number of predictions and example cases."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.disagreements import Disagreement
from callmark.reporting.safety import one_line, short_name
from callmark.reporting.terminal import print_sentence
from callmark.wording import pluralize

_MAX_GROUPS = 20  # --json has them all
_MAX_NAME, _MAX_SENTENCE = 40, 400


def show_disagreements(console: Console, groups: Sequence[Disagreement]) -> None:
    """Print the largest groups; if there are none, a sentence that says so."""
    if not groups:
        console.print(Text("\n  Evaluators do not disagree on any case", style="green"))
        return
    console.print(Text("\n  Evaluators disagree", style="bold"))
    for group in groups[:_MAX_GROUPS]:
        print_sentence(console, Text(f"{group.count:,}×  {one_line(group.sentence, _MAX_SENTENCE)}"), indent=4)
        print_sentence(console, Text(", ".join([short_name(case, _MAX_NAME) for case in group.cases]), style="dim"), indent=8)
    if len(groups) > _MAX_GROUPS:
        console.print(Text(f"    and {pluralize(len(groups) - _MAX_GROUPS, 'more group')}", style="dim"))
