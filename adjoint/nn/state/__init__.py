"""State of models: found by walking attributes, saved to files, loaded from files.

Public names only.
"""

from adjoint.nn.state.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from adjoint.nn.state.gguf import Gguf, gguf_load
from adjoint.nn.state.loading import LoadReport, Mismatch, load_state_dict
from adjoint.nn.state.safetensors import safe_load, safe_metadata, safe_save
from adjoint.nn.state.torch_zip import torch_load
from adjoint.nn.state.walk import get_parameters, get_state_dict

__all__ = [
    "Checkpoint",
    "Gguf",
    "LoadReport",
    "Mismatch",
    "get_parameters",
    "get_state_dict",
    "gguf_load",
    "load_checkpoint",
    "load_state_dict",
    "safe_load",
    "safe_metadata",
    "safe_save",
    "save_checkpoint",
    "torch_load",
]
