"""Something to look at with no file at hand: `hotel.jsonl`, 32 conversations of a small hotel's front desk.

Written for callmark, with one flaw of each kind planted in it (a hallucinated id, cut JSON, a tool that is not listed, …), so that
every command has something to find.
"""
