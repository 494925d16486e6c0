"""Generative reward models, which vote on the steps of an episode or write unit tests for its program. Groups of
trajectories come in; votes or test results, advantages of the policy and training samples of the reward model go out.

- `reviewer`: the interface that the loop uses, `Reviewer` and `Review`.
- `forecasts`: prompts and answers of one that forecasts success instead, as values of steps from -1 to 1.
- `step_judge`, `step_prompts`, `step_reviewer`, `judged_group`: a reward model that votes on steps; `critic_memory`:
  what a critic made of its votes remembers.
- `unit_tests`, `unit_test_answers`, `trials`, `unit_test_reviewer`: a reward model that writes unit tests.
- `judge_model`: the language model behind either kind.
"""
