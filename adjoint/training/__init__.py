"""The loop around a training step: progress, checkpoints, Ctrl-C, resuming.

Public names only.
"""
