"""Scripted agents of desktops: `oracle` and `solution` type the keys that a generated task was made with, the first as
demonstrations; `guess` is random play, and `cheats` and `probes` are for the audit. A reward model judges desktops in
the full view, and has lessons as forecasts alone.
"""
