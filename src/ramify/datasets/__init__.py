"""Data: simulated, with known structure, and those of the paper.

- `make_tree`, `make_shape`, `make_cells`, …: points, and the graph, branch, pseudotime and root.
- `fetch` and one call for each set (`fetch_iris`, …): the paper's data, from files or OpenML.
"""

from ._dataset import Dataset, DatasetNotFound
from ._simulated import Simulated
from .cells import make_cells
from .faces import Faces, make_faces
from .paper import (
    fetch_cmu_pie,
    fetch_coil20,
    fetch_faces,
    fetch_iris,
    fetch_isolet,
    fetch_letter,
    fetch_metabric,
    fetch_pendigits,
    fetch_satimage,
    fetch_segment,
    fetch_teapot,
    fetch_toy,
    fetch_usps,
    fetch_usps_ones,
    fetch_vehicle,
)
from .progression import Progression, make_progression
from .real import fetch, found_datasets
from .shapes import make_helix, make_shape
from .topologies import TOPOLOGIES, random_tree_topology
from .trees import make_forest, make_ring, make_tree

__all__ = [
    "TOPOLOGIES",
    "Dataset",
    "DatasetNotFound",
    "Faces",
    "Progression",
    "Simulated",
    "fetch",
    "fetch_cmu_pie",
    "fetch_coil20",
    "fetch_faces",
    "fetch_iris",
    "fetch_isolet",
    "fetch_letter",
    "fetch_metabric",
    "fetch_pendigits",
    "fetch_satimage",
    "fetch_segment",
    "fetch_teapot",
    "fetch_toy",
    "fetch_usps",
    "fetch_usps_ones",
    "fetch_vehicle",
    "found_datasets",
    "make_cells",
    "make_faces",
    "make_forest",
    "make_helix",
    "make_progression",
    "make_ring",
    "make_shape",
    "make_tree",
    "random_tree_topology",
]
