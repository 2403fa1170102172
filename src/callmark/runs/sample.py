"""A random sample of the conversations of a dataset, the same for the same seed, without knowing the other conversations.

Each conversation has a key, a hash of its name and the seed; the order of the keys is the random order. A sample is every conversation up
to a key, so that `run.json` describes it in two numbers. A case that was not cut from a conversation is its own.
"""

from msgspec import Struct

from callmark.types import Case

DEFAULT_SEED = 1


class Sample(Struct, frozen=True):
    """The conversations whose key is at most `last`."""

    seed: int
    last: int

    def contains(self, case: Case) -> bool:
        """Return whether the conversation of a case is in the sample."""
        return case_key(case, self.seed) <= self.last


def case_key(case: Case, seed: int) -> int:
    """Return the key of the conversation that a case was cut from."""
    import xxhash

    name = case.source.conversation if case.source is not None else f"\0{case.id}"
    return int(xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"), seed=seed))
