"""Looking inside: graphs, passes, kernels and runs as one page for a browser.

Public names only. Nothing here is loaded by `import adjoint`; `adjoint.view` and `adjoint view`
load it.
"""

from adjoint.viz.view import View, view

__all__ = ["View", "view"]
