"""The truth of each domain: engines, planners and checkers that know nothing of training."""
