"""Data: a loader of batches, and datasets that need no network.

Public names only.
"""

from adjoint.data.archives import read_npz
from adjoint.data.bundled import breast_cancer, diabetes, digits, iris, wine
from adjoint.data.byte_pairs import BytePairs
from adjoint.data.collate import collate
from adjoint.data.dataset import Dataset, Mapped, Samples, Subset
from adjoint.data.loader import Loader
from adjoint.data.open_file import read_bytes
from adjoint.data.preprocessing import Scaling, check_labels, one_hot, standardise, train_test_split
from adjoint.data.synthetic import (
    adding,
    blobs,
    copying,
    shapes,
    sine_waves,
    sorting,
    spirals,
    two_moons,
)
from adjoint.data.tables import read_csv
from adjoint.data.text import Text, docstrings
from adjoint.data.windows import Windows

__all__ = [
    "BytePairs",
    "Dataset",
    "Loader",
    "Mapped",
    "Samples",
    "Scaling",
    "Subset",
    "Text",
    "Windows",
    "adding",
    "blobs",
    "breast_cancer",
    "check_labels",
    "collate",
    "copying",
    "diabetes",
    "digits",
    "docstrings",
    "iris",
    "one_hot",
    "read_bytes",
    "read_csv",
    "read_npz",
    "shapes",
    "sine_waves",
    "sorting",
    "spirals",
    "standardise",
    "train_test_split",
    "two_moons",
    "wine",
]
