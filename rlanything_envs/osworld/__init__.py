"""OSWorld: tasks on a real desktop."""
