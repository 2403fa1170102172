"""Where an answer comes from: a chat API over HTTP, a recorded file, a Python function, a process, an imitation, a small local LLM."""
