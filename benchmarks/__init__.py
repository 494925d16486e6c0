"""Measurements of what the documentation promises; run each with `python -m benchmarks.NAME`."""
