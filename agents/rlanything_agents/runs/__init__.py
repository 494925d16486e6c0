"""A run from beginning to end: the loop, its stages, checkpoints, the run folder, monitors, the summary."""
