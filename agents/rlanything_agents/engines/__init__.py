"""Sources of text for a model that is trained: transformers in this process, vLLM in this process, vLLM servers; the
hand-over of weights to them.

Token ids go in; token ids, text and log-probabilities come out, in the order of the prompts.
"""
