"""Supervision of coding: programs and unit tests for the warm start of small models, and a reward model that writes
unit tests.

`lessons` makes the demonstrations, `short_tests` is the unit-test style of the short view, `solution` submits a known
program and `guess` a random one.
"""
