"""ALFWorld: household tasks in text."""
