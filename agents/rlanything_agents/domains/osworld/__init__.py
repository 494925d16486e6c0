"""Scripted agents of desktops: `oracle` and `solution` type the keys that a generated task was made with, `guess` is
random play, and `cheats` and `probes` are for the audit. A reward model judges desktops in the full view, and learns
forecasts alone in a warm start.
"""
