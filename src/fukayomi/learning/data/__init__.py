"""Training data by position number: samples, arrays, batches and tensors."""
