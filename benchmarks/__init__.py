"""Benchmarks behind the numbers of the documentation; run each with `python -m benchmarks.NAME`."""
