"""Who acts and who learns: rollouts, the generative reward model, feedback, trainers and the loop."""
