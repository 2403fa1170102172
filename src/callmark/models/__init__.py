"""Models: chat APIs over HTTP, recorded predictions, Python functions, programs, chatbots, scripted models, a small local LLM."""
