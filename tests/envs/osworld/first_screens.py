"""``python first_screens.py KIND...``: the hash of the first screen of a task of each kind, a line each."""

import hashlib
import sys

import gymnasium as gym
import numpy as np

import rlanything_envs  # noqa: F401
from rlanything_task_pools import get_domain

if __name__ == "__main__":
    env = gym.make("RLAnything/OSWorld-v0", backend="bwrap", observation=["screenshot"])
    for kind in sys.argv[1:]:
        task = get_domain("osworld").generate(7, "valid_unseen", kinds=[kind])
        screen = env.reset(options={"task": task})[0]["screenshot"]
        print(kind, hashlib.sha256(np.ascontiguousarray(screen).tobytes()).hexdigest(), flush=True)
    env.close()
