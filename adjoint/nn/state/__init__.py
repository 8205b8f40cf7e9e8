"""State of models: found by walking attributes, saved to files, loaded from files.

Public names only.
"""
