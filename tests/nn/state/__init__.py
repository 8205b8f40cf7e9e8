"""State dicts, files of weights, checkpoints."""
