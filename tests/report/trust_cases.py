"""What Python says of rows of small models, for web/test/model; this module writes it there."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from branchwise import DDRTree, Preparation
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.report.content import report_state
from branchwise.report.encoding import encode

PATH = Path(__file__).parents[2] / "web" / "test" / "model" / "trust.json"
NAMES = list("abcde")
PREPARATIONS = (
    Preparation(log1p=True, standardize=True, pca=4),
    Preparation(rank_normalize=True),
    Preparation(impute="median", standardize=True),
    Preparation(impute="model", standardize=True),
)


def cases():
    """Simulated: a page of each model, rows with gaps and without, and what is said of them."""
    rng = np.random.default_rng(11)
    data = make_tree(120, 5, noise=0.1, random_state=0)
    frame = pd.DataFrame(np.exp(data.X / 3), columns=NAMES).rename(index="P{}".format)
    for preparation in PREPARATIONS:
        made = fit_pipeline(frame, DDRTree(2, random_state=0), preparation, root={"node": "T1"})
        rows = frame.iloc[:6].to_numpy() * rng.uniform(0.8, 1.25, (6, 5))
        rows[1, 2] *= 10  # a wrong unit
        rows[3, 2] *= 1000  # and one beside a gap
        rows[2, [0, 3]] = rows[3, 1] = rows[4, :4] = np.nan
        table = pd.DataFrame(rows, columns=NAMES)
        places = made.place(table)
        yield {
            "page": encode(report_state(made)),
            "rows": [[None if np.isnan(x) else x for x in row] for row in rows.tolist()],
            "said": {n: places[n].tolist() for n in places if not n.startswith("ddrtree")},
            "branches": made.branch_probabilities(table).to_numpy().tolist(),
        }


if __name__ == "__main__":
    PATH.write_text(json.dumps(list(cases())) + "\n", encoding="utf-8")
