"""Models: layers, losses, initial values, optimisers and state.

Public names only.
"""
