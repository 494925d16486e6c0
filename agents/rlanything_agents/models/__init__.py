"""A language model of a run: its chat template, a small one made on the spot, a pretrained one with its adapters, fp32
master weights.
"""
