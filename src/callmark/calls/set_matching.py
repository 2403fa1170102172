"""Match the members of a `$set` with the items of an array, one to one."""

from collections.abc import Callable, Sequence


def all_matched(possible: Sequence[int], fits: Callable[[int, int], bool]) -> bool:
    """Return whether every member can have an item of its own, with as many items as members.

    `possible[member]` are the items that a member may fit, as the bits of a number. `fits(member, item)` decides; it is called at most once
    for each pair, and only when the answer matters. Items are taken in order where that works out (almost always), else along augmenting
    paths, without recursion.
    """
    unknown, known = list(possible), [0] * len(possible)  # the items that each member has not been checked with, and those that it fits
    item_of: dict[int, int] = {}
    owner: dict[int, int] = {}
    free = (1 << len(possible)) - 1

    def first_fit(member: int, among: int) -> int:
        """Return the lowest bit of an item that the member fits; 0 if there is none."""
        if found := known[member] & among:
            return found & -found
        while rest := unknown[member] & among:
            bit = rest & -rest
            unknown[member] ^= bit
            if fits(member, bit.bit_length() - 1):
                known[member] |= bit
                return bit
        return 0

    for start in range(len(possible)):
        reached: dict[int, int] = {}  # the member from which each item was reached
        seen, members = 0, [start]
        bit = 0
        while members and not bit:
            member = members.pop()
            bit = first_fit(member, free)
            if bit:
                reached[bit] = member
            else:
                while first_fit(member, unknown[member]):
                    pass
                new = known[member] & ~seen
                seen |= new
                while new:
                    taken = new & -new
                    new ^= taken
                    reached[taken] = member
                    members.append(owner[taken])
        if not bit:
            return False
        free ^= bit
        while bit:  # each member on the path passes its item to the one before it
            member = reached[bit]
            owner[bit] = member
            item_of[member], bit = bit, item_of.get(member, 0)
    return True
