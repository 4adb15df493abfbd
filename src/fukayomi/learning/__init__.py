"""Learn: batches of positions with targets, loss, metrics, checkpoints, the training loop, evaluation."""
