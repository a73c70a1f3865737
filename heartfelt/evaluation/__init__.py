"""Numbers that can be believed."""
