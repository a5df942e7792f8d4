"""Write the model files that every later version has to read; run once per format version.

    python tests/data/make_models.py

The data are simulated. Files of earlier versions stay as they are.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from ramify import SPL, DDRTree, DRTree
from ramify.io.states import VERSION
from ramify.structures import Forest

FOLDER = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [4, 2, 1, 0.5]
    rows = np.vstack([X[:2], rng.normal(size=(3, 4))])
    models = {
        "ddrtree": DDRTree(n_centers=8, random_state=0).fit(pd.DataFrame(X, columns=list("abcd"))),
        "ddrtree-rbf": DDRTree(1, kernel="rbf", n_centers=5, random_state=0).fit(
            sparse.csr_array(X.round())
        ),
        "drtree": DRTree(None, structure=Forest(2)).fit(X.astype(np.float32)),
        "spl": SPL(n_neighbors=5).fit(X),
    }
    expected = {"rows": rows.tolist()}
    for name, model in models.items():
        model.save(FOLDER / f"{name}-v{VERSION}.ramify")
        given = pd.DataFrame(rows, columns=list("abcd")) if name == "ddrtree" else rows
        expected[name] = {"repr": repr(model), "transform": model.transform(given).tolist()}
    (FOLDER / f"expected-v{VERSION}.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
