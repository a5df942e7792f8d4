"""Whether the p of new rows is valid, what it finds, and whether intervals hold.

    BRANCHWISE_DATA=FOLDER python benchmarks/conformal.py [SPLITS]

Writes ``results/conformal.json`` and, from it, ``conformal.md``.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris

from branchwise import Preparation
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline

FOLDER = Path(__file__).parent
LEVEL = 0.05
N_SPLITS = 6
N_NEW = 200
# Rows of one table may be visits of the same patients.
N_PATIENTS, N_VISITS = 40, 3


def metabric():
    """Genes of real tumours, and the cohort of each."""
    path = Path(os.environ["BRANCHWISE_DATA"]) / "metabric.csv.gz"
    table = pd.read_csv(path, low_memory=False)
    genes = [name for name in table.columns[31:] if not name.endswith("_mut")]
    return table[genes], table["cohort"].to_numpy()


def likert():
    """Answers to questions."""
    X = make_tree(800, 12, noise=0.4, random_state=0).X
    steps = np.quantile(X, [0.2, 0.4, 0.6, 0.8], axis=0)
    answers = 1 + (steps[:, np.newaxis] < X).sum(axis=0)
    return pd.DataFrame(answers.astype(float)).add_prefix("x")


def mixed():
    """Numbers, and categories of which one follows the tree and others have rare levels."""
    rng = np.random.default_rng(0)
    X = make_tree(800, 6, noise=0.3, random_state=0).X
    along = X[:, 0] + 0.5 * rng.normal(size=len(X))
    return (
        pd.DataFrame(X[:, :5])
        .add_prefix("x")
        .assign(
            grade=np.where(along > np.median(along), "high", "low"),
            site=rng.choice(list("pqrs"), len(X), p=[0.5, 0.3, 0.15, 0.05]),
            kind=rng.choice(list("klm"), len(X), p=[0.8, 0.17, 0.03]),
        )
    )


def cases():
    """Tables by name: all rows, and how many of them are fitted."""
    for name, n, columns, noise in (("narrow", 800, 12, 0.2), ("wide", 400, 400, 0.3)):
        X = make_tree(n, columns, noise=noise, random_state=0).X
        yield f"simulated, {name} ({columns} columns)", pd.DataFrame(X).add_prefix("x"), 120
    yield "simulated, answers from 1 to 5 (12 columns)", likert(), 120
    yield "simulated, 5 numbers and 3 categories", mixed(), 120
    yield "iris", load_iris(as_frame=True).data, 100
    yield "tumours", load_breast_cancer(as_frame=True).data, 250
    if "BRANCHWISE_DATA" in os.environ:
        yield "METABRIC", metabric()[0], 250


def fitted(rows):
    """The default way, in units of standard deviations; columns of text are categories."""
    preparation = Preparation(standardize=True, categorical=words_of(rows) or None)
    return fit_pipeline(rows, preparation=preparation, root={"node": "T1"})


def words_of(table):
    """Columns of text."""
    return [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]


def anywhere(table, n, rng):
    """Rows in which every column is from anywhere in its range, whatever the others are."""
    return pd.DataFrame(
        {
            name: rng.choice(pd.unique(table[name]), n)
            if name in words_of(table)
            else rng.uniform(table[name].min(), table[name].max(), n)
            for name in table
        }
    )


def one_split(table, n, rng):
    """Shares of small p of new rows and of what is made of them, and how often intervals hold."""
    order = rng.permutation(len(table))
    made, new = fitted(table.iloc[order[:n]]), table.iloc[order[n : n + N_NEW]]
    whole = made.place(new)
    numbers = table.columns.drop(words_of(table))
    column = numbers[rng.integers(len(numbers))]
    found = {"usual": (whole["p"] <= LEVEL).mean()}
    for name, factor in (("x 10", 10.0), ("sign", -1.0), ("/ 18", 1 / 18)):
        wrong = new.assign(**{column: new[column] * factor})
        places = made.place(wrong)
        found[name] = (places["p"] <= LEVEL).mean()
        first = places["drivers"].str.startswith(f"{column} ")
        found[f"{name} named"] = (
            first | (places["out_of_range"].str.contains(column, regex=False))
        ).mean()
    nowhere = anywhere(table, len(new), rng)
    found["nowhere"] = (made.place(nowhere)["p"] <= LEVEL).mean()
    left = {f"gaps {share:.0%}": rng.random(new.shape) < share for share in (0.2, 0.5)}
    left["one column"] = np.broadcast_to(table.columns != column, new.shape)
    for name, is_gap in left.items():
        places = made.place(new.mask(is_gap)).loc[whole.index]
        lower, upper = places["pseudotime_lower"], places["pseudotime_upper"]
        known = places["pseudotime"].notna()
        found[name] = (places["p"][known] <= LEVEL).mean()
        inside = (whole["pseudotime"] >= lower) & (whole["pseudotime"] <= upper)
        found[f"interval, {name}"] = inside[known].mean()
    return found


def visits(rng, n_visits):
    """The share of small p of new patients, with so many rows of each patient in the fit."""
    seed = int(rng.integers(2**31))
    patients = make_tree(N_PATIENTS + N_NEW, 10, noise=0.2, random_state=seed).X
    several = np.repeat(patients[:N_PATIENTS], n_visits, axis=0)
    both = np.vstack([several, patients[N_PATIENTS:]])
    rows = pd.DataFrame(both + 0.07 * rng.normal(size=both.shape)).add_prefix("x")
    places = fitted(rows[:-N_NEW]).place(rows[-N_NEW:])
    return float((places["p"] <= LEVEL).mean())


def measured(n_splits):
    """All tables, and cohorts of METABRIC by others."""
    tables = []
    for name, table, n in cases():
        rng = np.random.default_rng(0)
        runs = [one_split(table, n, rng) for _ in range(n_splits)]
        shares = [{key: float(value) for key, value in run.items()} for run in runs]
        size = {"name": name, "rows": n, "columns": table.shape[1]}
        tables.append(size | {"splits": shares})
        print(row_of(tables[-1]), flush=True)
    document = {"n_splits": n_splits, "tables": tables, "visits": {}, "cohorts": []}
    for each in (N_VISITS, 1):
        rng = np.random.default_rng(0)
        document["visits"][str(each)] = [visits(rng, each) for _ in range(n_splits)]
    if "BRANCHWISE_DATA" in os.environ:
        genes, cohort = metabric()
        made = fitted(genes[np.isin(cohort, [1, 2])])
        for k in (3, 4, 5):
            p = made.place(genes[cohort == k])["p"]
            share = float((p <= LEVEL).mean())
            document["cohorts"].append({"cohort": k, "rows": len(p), "share": share})
    return document


def row_of(table):
    """A table's line of the page: means over splits, in per cent."""
    runs = pd.DataFrame(table["splits"])
    cells = [f"{100 * value:.1f}" for value in runs.mean()]
    cells[0] = mean_of(runs["usual"])
    size = f"{table['rows']} x {table['columns']}"
    return f"| {table['name']} | {size} | {' | '.join(cells)} |"


def mean_of(shares):
    """The mean over splits with its standard error, in per cent."""
    mean = f"{100 * np.mean(shares):.1f}"
    if len(shares) < 2:
        return mean
    return f"{mean} ± {100 * np.std(shares, ddof=1) / np.sqrt(len(shares)):.1f}"


def page_of(document):
    """The page that shows the results."""
    header = ["table", "rows x columns", *document["tables"][0]["splits"][0]]
    lines = [
        f"# Trust in places: {document['n_splits']} splits of each table",
        "",
        "Shares of new rows with p <= 0.05 (`usual` has to be at most 5 % and its standard error), "
        "rows in which the wrong column is named, and rows whose whole place is in the interval "
        "of what is left of them, in per cent; `one column` is what is left of the last. "
        "Generated by `make bench-conformal` from "
        "`results/conformal.json`.",
        "",
        f"| {' | '.join(header)} |",
        "|" + " --- |" * len(header),
        *map(row_of, document["tables"]),
    ]
    lines += ["", f"{N_PATIENTS} patients (simulated), and p of {N_NEW} new ones:", ""]
    for each, shares in document["visits"].items():
        rows = "one visit" if each == "1" else f"{each} visits"
        lines.append(f"- {rows} of each: {mean_of(shares)} %")
    if document["cohorts"]:
        lines += ["", "METABRIC, fitted to cohorts 1 and 2:", ""]
    for each in document["cohorts"]:
        lines.append(
            f"- cohort {each['cohort']}: {100 * each['share']:.1f} % of {each['rows']} rows"
        )
    return "\n".join(lines) + "\n"


def main(n_splits):
    """Measure, keep the results, and write the page."""
    document = measured(n_splits)
    kept = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / "results" / "conformal.json").write_text(kept, encoding="utf-8")
    (FOLDER / "conformal.md").write_text(page_of(document), encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else N_SPLITS)
