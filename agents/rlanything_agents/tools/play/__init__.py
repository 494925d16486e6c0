"""A task played by a person: the game without a screen, what is typed, what can be completed, and the terminal."""
