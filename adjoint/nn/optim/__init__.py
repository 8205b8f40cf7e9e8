"""Optimisers: each a pure `init`/`update` pair, and an object with `step()` built on it.

Public names only.
"""
