"""Decide a comparison or a gate before every conversation was run (`run --until-decided`; docs/reference/metrics.md, section 11).

Conversations are run in random order, in waves that end at looks fixed in advance. After a wave, each run waits for the others; then the
look decides whether another wave is needed. A run that stops for another reason (a budget, a rejected key) ends the looks: nothing is
decided any more, and the other runs continue to the end.
"""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from callmark.analysis.measures import CaseValues, Measure
from callmark.analysis.numbers import format_difference, format_interval, format_score
from callmark.analysis.sequential import DEFAULT_LOOKS, MIN_CONVERSATIONS, Look, check_threshold_at, compare_at, plan_looks
from callmark.errors import BadInput
from callmark.runs.sample import DEFAULT_SEED, Sample
from callmark.wording import mark_heuristic, pluralize


class EarlyRule(Struct, frozen=True):
    """When to stop: a measure with a threshold is decided for one run, any other measure for the second of two runs against the first."""

    measures: Sequence[Measure]
    thresholds: dict[str, float] = {}
    looks: int = DEFAULT_LOOKS
    seed: int = DEFAULT_SEED


class EarlyDecision:
    """The looks at the runs of one command, which share it.

    `keys` are those of all conversations. `values_at` returns the values of the measures so far, one `CaseValues` per run, for the cases of
    a sample. Too few conversations for a look raise `BadInput`.
    """

    def __init__(
        self, rule: EarlyRule, labels: Sequence[str], keys: Sequence[int], values_at: Callable[[Sample], list[CaseValues]]
    ) -> None:
        self._rule = rule
        self._labels = labels
        self._keys = sorted(keys)
        self._values_at = values_at
        self._looks = plan_looks(len(keys), rule.looks)
        if not self._looks:
            raise BadInput(f"--until-decided needs at least {MIN_CONVERSATIONS} conversations, got {len(keys)}")
        self._position = 0
        self._running = len(labels)
        self._waiting = 0
        self._decided_event = asyncio.Event()
        self._is_off = False
        self.sentence = ""  # what was decided, and when; empty if nothing was

    @property
    def sample(self) -> Sample:
        """The conversations up to the current look."""
        return self._sample(self._looks[self._position])

    @property
    def previous_sample(self) -> Sample | None:
        """The conversations up to the look before; None at the first."""
        return self._sample(self._looks[self._position - 1]) if self._position else None

    async def wait(self) -> bool:
        """Wait until every run has its predictions for this look; return whether another wave is needed."""
        self._waiting += 1
        event, last = self._decided_event, self._position == len(self._looks) - 1
        self._look_if_complete()
        await event.wait()
        return not last and not self.sentence

    def leave(self) -> None:
        """A run ends, whether or not it is complete. If it is not, the others must not wait for it."""
        self._running -= 1
        self._look_if_complete()

    def stop_looking(self) -> None:
        """Nothing can be decided any more: a run lacks predictions."""
        self._is_off = True

    def _look_if_complete(self) -> None:
        if not self._waiting or self._waiting < self._running:
            return
        if not self._is_off:
            self.sentence = self._look(self._looks[self._position])
        self._waiting = 0
        if not self.sentence and self._position < len(self._looks) - 1:
            self._position += 1
        event, self._decided_event = self._decided_event, asyncio.Event()
        event.set()

    def _look(self, look: Look) -> str:
        """Return what is decided at a look; empty if nothing is."""
        values = self._values_at(self._sample(look))
        found = [self._decide(look, measure, values) for measure in self._rule.measures]
        if not all(found):
            return ""
        conversations = f"{look.conversations:,} of {pluralize(len(self._keys), 'conversation')}"
        is_last = self._position == len(self._looks) - 1
        when = "Decided at the last look" if is_last else f"Stopped early at look {look.number} of {look.of}"
        return f"{when} ({conversations}): {'; '.join(found)} (sequentially adjusted)"

    def _decide(self, look: Look, measure: Measure, values: Sequence[CaseValues]) -> str:
        name = mark_heuristic(measure.name, measure.definition.heuristic)
        if measure.name in self._rule.thresholds:
            threshold = self._rule.thresholds[measure.name]
            estimate = values[0].estimate(measure)
            interval, decided = check_threshold_at(look, values[0].clusters(measure), threshold)
            if not decided or interval is None or estimate is None:
                return ""
            side = "above" if interval[0] > threshold else "below"
            return f"{name} {format_score(estimate.mean)} {format_interval(*interval)} is {side} {threshold:g}"
        clusters = values[1].change_clusters(values[0], measure)
        if not clusters:
            return ""
        difference, decided = compare_at(look, clusters)
        if not decided:
            return ""
        better = (difference.mean > 0) is measure.definition.higher_is_better
        numbers = format_difference(difference.mean, difference.low, difference.high)
        return f"{self._labels[1]} is {'better' if better else 'worse'} than {self._labels[0]}: {name} {numbers}"

    def _sample(self, look: Look) -> Sample:
        return Sample(self._rule.seed, self._keys[look.conversations - 1])
