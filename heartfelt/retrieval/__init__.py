"""Retrieval: a pool of replies, encoded once into an index on disk, from which the ones that fit are found."""
