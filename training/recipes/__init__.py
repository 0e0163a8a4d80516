"""What a training is run with: the paper's values, ours where it gives none, and what the engines read."""
