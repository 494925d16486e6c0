"""What a run has stored, read back with nothing in it trusted."""
