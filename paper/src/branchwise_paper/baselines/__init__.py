"""The methods that the paper compares with or builds on, all with scikit-learn's `fit_transform`.

Written here, because no kept library has them: `MVU`, `MEU`, `SMCE`, `GPLVM`, `PPCA`, `DRILL`,
`StructureLearning`, `L1Graph`, `SimplePPT`, `CLUHSIC`, and `PrintedSPL`, the paper's own algorithm.
Those that scikit-learn has too, under the paper's names and with its settings: `KPCA`, `LLE`, `LE`,
`TSNE`, `PCA` and `Isomap`; `branchwise_paper.baselines.known` says which are scikit-learn's own.
"""

import importlib
from typing import Any

# Where to find each: imported when it is first used.
HOMES = {
    "CLUHSIC": "cluhsic",
    "DRILL": "drill",
    "GPLVM": "gplvm",
    "KPCA": "known",
    "LE": "known",
    "LLE": "known",
    "MEU": "meu",
    "MVU": "mvu",
    "PCA": "known",
    "PPCA": "ppca",
    "PrintedSPL": "printed_spl",
    "SMCE": "smce",
    "TSNE": "known",
    "Isomap": "known",
    "L1Graph": "l1_graph",
    "SimplePPT": "simple_ppt",
    "StructureLearning": "structure_learning",
}
__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name in HOMES:
        return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(HOMES)
