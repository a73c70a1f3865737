"""Reproduction: the papers' tables, and ours beside them."""
