"""Models: chat APIs over HTTP, recorded predictions, Python functions, programs, chatbots, simulated models, a small local LLM."""
