"""The kernels that a GPU would run; no GPU is needed."""

from adjoint.backends.cuda import BACKEND
from adjoint.engine.pipeline import compile_graph
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known


def programs(*tensors):
    """Those that compute tensors."""
    roots = [t.uop for t in tensors]
    known = [node for node in toposort(roots) if is_known(node)]
    return list(compile_graph(roots, known, BACKEND).programs())
