"""Supervision of ALFWorld: an exploring expert, heuristic and true step labels, short judge texts, the planner's plan.

`belief` is the state of a household as far as the messages reveal it; `expert`, `heuristic` and `judge_texts` are
functions of it. `labels` and `solution` use the planner.
"""
