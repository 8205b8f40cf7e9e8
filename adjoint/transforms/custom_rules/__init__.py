"""Custom derivatives: `custom_vjp`, `custom_jvp`, `Operation`, and their rules as nodes.

In: Python functions. Out: nodes that carry rules.
"""
