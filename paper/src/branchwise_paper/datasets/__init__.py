"""The paper's data sets, from files or OpenML: `fetch`, and a call for each (`fetch_iris`, …)."""

from .dataset import Dataset, DatasetNotFound
from .faces import Faces, make_faces
from .loaders import (
    fetch,
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
    found_datasets,
)

__all__ = [
    "Dataset",
    "DatasetNotFound",
    "Faces",
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
    "make_faces",
]
