"""`make finetune`: fine-tune the small local LLM on synthesized conversations, and measure what it gained. See `__main__.py`."""
