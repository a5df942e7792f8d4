"""Is the p of new rows valid, what does it find, and do intervals hold? Writes conformal.md.

BRANCHWISE_DATA=… python -m benchmarks.conformal [SPLITS]
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris

from branchwise import Preparation
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline

OUT = Path(__file__).with_name("conformal.md")
LEVEL = 0.05


def metabric():
    """Genes of real tumours, and the cohort of each."""
    path = Path(os.environ["BRANCHWISE_DATA"]) / "metabric.csv.gz"
    table = pd.read_csv(path, low_memory=False)
    genes = [name for name in table.columns[31:] if not name.endswith("_mut")]
    return table[genes], table["cohort"].to_numpy()


def cases():
    """Tables by name: all rows, and how many of them are fitted."""
    for name, n, columns, noise in (("narrow", 800, 12, 0.2), ("wide", 400, 400, 0.3)):
        X = make_tree(n, columns, noise=noise, random_state=0).X
        yield f"simulated, {name} ({columns} columns)", pd.DataFrame(X).add_prefix("x"), 120
    yield "iris", load_iris(as_frame=True).data, 100
    yield "tumours", load_breast_cancer(as_frame=True).data, 250
    if "BRANCHWISE_DATA" in os.environ:
        yield "METABRIC", metabric()[0], 250


def fitted(rows):
    """The default way, in units of standard deviations."""
    return fit_pipeline(rows, preparation=Preparation(standardize=True), root={"node": "T1"})


def one_split(table, n, rng):
    """Shares of small p of new rows and of what is made of them, and how often intervals hold."""
    order = rng.permutation(len(table))
    made, new = fitted(table.iloc[order[:n]]), table.iloc[order[n : n + 200]]
    whole = made.place(new)
    column = table.columns[rng.integers(table.shape[1])]
    found = {"usual": (whole["p"] <= LEVEL).mean()}
    for name, factor in (("x 10", 10.0), ("sign", -1.0), ("/ 18", 1 / 18)):
        wrong = new.assign(**{column: new[column] * factor})
        places = made.place(wrong)
        found[name] = (places["p"] <= LEVEL).mean()
        first = places["drivers"].str.startswith(f"{column} ")
        found[f"{name} named"] = (
            first | (places["out_of_range"].str.contains(column, regex=False))
        ).mean()
    nowhere = rng.uniform(table.min(), table.max(), size=new.shape)
    nowhere = pd.DataFrame(nowhere, columns=table.columns)
    found["nowhere"] = (made.place(nowhere)["p"] <= LEVEL).mean()
    for share in (0.2, 0.5):
        places = made.place(new.mask(rng.random(new.shape) < share)).loc[whole.index]
        lower, upper = places["pseudotime_lower"], places["pseudotime_upper"]
        known = places["pseudotime"].notna()
        found[f"gaps {share:.0%}"] = (places["p"][known] <= LEVEL).mean()
        inside = (whole["pseudotime"] >= lower) & (whole["pseudotime"] <= upper)
        found[f"interval {share:.0%}"] = inside[known].mean()
    return found


def main(n_splits):
    """All tables, and a cohort by others."""
    lines = [
        f"# Trust in places: {n_splits} splits of each table",
        "",
        "Shares of new rows with p <= 0.05 (`usual` has to be at most 5 % and its standard error), "
        "rows in which the wrong column is named, and rows whose whole place is in the interval "
        "of what is left of them. Made by `python -m benchmarks.conformal`.",
        "",
    ]
    header = None
    for name, table, n in cases():
        rng = np.random.default_rng(0)
        runs = pd.DataFrame([one_split(table, n, rng) for _ in range(n_splits)])
        if header is None:
            header = ["table", "rows x columns", *runs.columns]
            lines += [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
        error = runs["usual"].std(ddof=1) / np.sqrt(n_splits)
        cells = [f"{100 * value:.1f}" for value in runs.mean()]
        cells[0] += f" ± {100 * error:.1f}"
        lines.append(f"| {name} | {n} x {table.shape[1]} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if "BRANCHWISE_DATA" in os.environ:
        genes, cohort = metabric()
        made = fitted(genes[np.isin(cohort, [1, 2])])
        lines += ["", "METABRIC, fitted to cohorts 1 and 2:", ""]
        for k in (3, 4, 5):
            share = (made.place(genes[cohort == k])["p"] <= LEVEL).mean()
            lines.append(f"- cohort {k}: {100 * share:.1f} % of {(cohort == k).sum()} rows")
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
