"""Serving: the agent behind an OpenAI-compatible API, a page to talk on, and doors for other tools."""
