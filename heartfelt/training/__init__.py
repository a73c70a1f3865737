"""Training: recipe + corpus → run folder. One engine for all models; resumes; many processes."""
