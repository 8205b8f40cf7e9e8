"""The viewer: graphs, passes, kernels and runs as one page for a browser.

Public names only. `import adjoint` loads nothing of it; `adjoint.view` and `adjoint view` load it.
"""

from adjoint.viz.view import View, view

__all__ = ["View", "view"]
