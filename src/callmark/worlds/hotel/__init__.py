"""A small hotel's front desk as recorded data: `hotel.jsonl`, 32 conversations with ten tools.

One flaw of each kind is planted in them (a hallucinated id, truncated JSON, an unlisted tool, …), so that every command finds something.
"""
