"""Gymnasium environments for language agents, and the curriculum that adapts their tasks."""
