"""Curation: corpora made from other corpora."""
