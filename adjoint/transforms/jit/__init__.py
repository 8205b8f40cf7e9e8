"""`jit`: a call is traced once, its program is run at every later call that its guards admit.

In: a Python function. Out: `Jitted`. Tracing, guards, binding and reasons have a file each.
"""
