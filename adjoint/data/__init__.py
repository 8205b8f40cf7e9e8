"""Data: a loader of batches, and datasets that need no network.

Public names only.
"""
