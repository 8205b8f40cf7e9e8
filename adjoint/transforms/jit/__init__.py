"""`jit`: traces a call once, and runs its program at every later call whose guards hold.

In: a Python function. Out: `Jitted`. Tracing, guards, binding and reasons have a file each.
"""
