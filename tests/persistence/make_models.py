"""Write the model files that every later version has to read; run once per format version.

    python tests/persistence/make_models.py

The data are simulated. Files of earlier versions stay as they are.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from branchwise import SPL, DDRTree, DRTree, Preparation
from branchwise.io import Table
from branchwise.persistence.format import VERSION
from branchwise.pipeline import fit_pipeline
from branchwise.structures import Forest

FOLDER = Path(__file__).parent / "models"


def with_covariates(X: np.ndarray) -> pd.DataFrame:
    """A table with a number and a category to adjust for, and a gap."""
    table = pd.DataFrame(X, columns=list("abcd"))
    table.loc[1, "b"] = np.nan
    return table.assign(e=table["a"].round(), f=np.where(table["c"] > 0, "x", "y"))


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [4, 2, 1, 0.5]
    rows = np.vstack([X[:2], rng.normal(size=(3, 4))])
    models = {
        "ddrtree": DDRTree(2, n_centers=8, random_state=0).fit(
            pd.DataFrame(X, columns=list("abcd"))
        ),
        "ddrtree-rbf": DDRTree(1, kernel="rbf", n_centers=5, random_state=0).fit(
            sparse.csr_array(X.round())
        ),
        "drtree": DRTree(None, structure=Forest(2)).fit(X.astype(np.float32)),
        "spl": SPL(n_neighbors=5).fit(X),
    }
    expected = {"rows": rows.tolist()}
    for name, model in models.items():
        model.save(FOLDER / f"{name}-v{VERSION}.branchwise")
        given = pd.DataFrame(rows, columns=list("abcd")) if name == "ddrtree" else rows
        expected[name] = {"repr": repr(model), "transform": model.transform(given).tolist()}
    # Scaled rows of a sparse table are not centred, and no later rows are.
    names = [str(k) for k in range(len(X))]
    scarce = sparse.csr_array(X.round() * (X > 0))
    pipeline = fit_pipeline(
        Table(scarce, list("abcd"), names, pd.DataFrame(index=names), "simulated"),
        DRTree(n_components=1),
        Preparation(standardize=True),
    )
    pipeline.save(FOLDER / f"pipeline-scaled-v{VERSION}.branchwise")
    placed = pipeline.place(pd.DataFrame(rows, columns=list("abcd")))
    expected["pipeline-scaled"] = {"place": placed.to_dict(orient="list")}
    table, new = (with_covariates(values) for values in (X, rows))
    pipeline = fit_pipeline(
        table,
        DDRTree(2, n_centers=8, random_state=0),
        Preparation(
            impute="median", rank_normalize=True, adjust=["e", "f"], standardize=True, pca=3
        ),
        root={"sample": "4"},
    )
    pipeline.save(FOLDER / f"pipeline-v{VERSION}.branchwise")
    expected["pipeline"] = {"place": pipeline.place(new).to_dict(orient="list")}
    (FOLDER / f"expected-v{VERSION}.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
