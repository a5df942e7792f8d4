"""Tables with values removed: filled by a tree, by medians, by other columns, or rows dropped.

    BRANCHWISE_DATA=FOLDER python benchmarks/imputation.py [--render | --outliers]

Of every table 5, 20 and 40 % of the values are removed, at random or by value: the higher the rank
of a value in its column, the likelier it is missing, from never for the smallest to twice the share
for the largest. Every method then fills what is missing, a trajectory is learned the default way,
and both are compared with the whole table. With outliers, only what is filled is looked at
(`--outliers` measures this part again). Writes results/imputation.json and imputation.md.
"""

import argparse
import json
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from threadpoolctl import threadpool_limits

from branchwise import Preparation
from branchwise.graph.placement import distances_between
from branchwise.placing.filling import Filling, learn_filling
from branchwise.solvers.conditional import condition
from branchwise.solvers.filling import fill_rows
from branchwise.trajectory.learning import learn
from run import machine
from yardstick import Set, load_sets, nulls, order, rank_correlation

HERE = Path(__file__).resolve().parent
SHARES, KINDS = (0.05, 0.2, 0.4), ("random", "by value")
METHODS = ("model", "median", "iterative", "drop")
# Larger tables are cut to so many rows and columns, drawn by chance, to keep to the time.
MOST_ROWS, MOST_COLUMNS = 400, 100
# Iterative imputation of wider tables takes so many other columns for each, as its manual advises.
WIDE, N_NEAREST = 60, 20
# A trajectory of fewer rows is not learned.
FEWEST_ROWS = 30
# Pairs of rows whose distances along the two trees are compared.
N_PAIRS = 5000
# Rows that time starts at where no start is known: the first of the whole table's trajectory.
START = 0.05
# Tables that a setting of the model was chosen on; the others are its test.
CHOSEN_ON = {
    *("tree_guo", "sc_lung", "tree_thymus", "tree_sergio_ds8", "make_tree_bifurcation"),
    *("iris", "tumours", "METABRIC genes"),
}
SETS = (
    *("tree_guo", "tree_thymus", "sc_lung", "tree_sergio_ds8", "make_tree_bifurcation"),
    *("tree_prosstt_bif", "sc_krumsiek11", "sc_paul240", "make_tree_binary"),
)
N_NULLS = 5
# Of the values that are left, so many are so many times as large, as by wrong units.
SPOILT, TIMES = 0.01, 30.0
# Differences below this are not told as losses.
LEAST_LOSS = 0.02

Run = dict[str, Any]


def tables() -> list[Set]:
    """Sets with a known order, and tables of which only the whole one's trajectory is known."""
    known = {of.name: of for of in load_sets()}
    found = [known[name] for name in SETS if name in known]
    for name, X in {
        "iris": load_iris().data,
        "tumours": load_breast_cancer().data,
        "wine": load_wine().data,
        "METABRIC genes": metabric_genes(),
    }.items():
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        none = np.full(len(X), "")
        found.append(
            Set(name, Z, none, [], 0, "", np.full(len(X), np.nan), none, True, "standardised")
        )
    return [cut(of) for of in found]


def metabric_genes() -> np.ndarray:
    """The numbers from brca1 to the first mutation."""
    frame = pd.read_csv(Path(os.environ["BRANCHWISE_DATA"]) / "metabric.csv.gz", low_memory=False)
    genes = frame.loc[:, "brca1":].select_dtypes("number").dropna()
    return genes.loc[:, genes.std() > 0].to_numpy(float)


def cut(known: Set) -> Set:
    """At most so many rows and columns of a table, without constants."""
    rng = np.random.default_rng(0)
    n = len(known.X)
    rows = np.sort(rng.choice(n, MOST_ROWS, replace=False)) if n > MOST_ROWS else np.arange(n)
    X = known.X[rows]
    columns = np.flatnonzero(X.std(axis=0) > 0)
    if len(columns) > MOST_COLUMNS:
        columns = np.sort(rng.choice(columns, MOST_COLUMNS, replace=False))
    parts = {"label": known.label[rows], "time": known.time[rows], "branch": known.branch[rows]}
    whole = {name: getattr(known, name) for name in ("name", "lineages", "tips", "root")}
    return Set(X=X[:, columns], **parts, **whole, real=known.real, source=known.source)


def removed(X: np.ndarray, share: float, kind: str) -> np.ndarray:
    """X with gaps, but none in a column that would lose its last two different values."""
    rng = np.random.default_rng([int(100 * share), KINDS.index(kind)])
    chance = share
    if kind == "by value":
        jitter = rng.random(X.shape)  # an order among equal values
        chance = 2 * share * np.argsort(np.lexsort((jitter, X), axis=0), axis=0) / (len(X) - 1)
    with_gaps = np.where(rng.random(X.shape) < chance, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        lost = ~(np.nanmax(with_gaps, axis=0) > np.nanmin(with_gaps, axis=0))
    with_gaps[:, lost] = X[:, lost]
    return with_gaps


def filled(method: str, Y: np.ndarray) -> np.ndarray:
    """The table without gaps; by dropping rows, with fewer rows."""
    if method == "drop":
        return Y[~np.isnan(Y).any(axis=1)]
    if method == "iterative":
        nearest = N_NEAREST if Y.shape[1] > WIDE else None
        return IterativeImputer(random_state=0, n_nearest_features=nearest).fit_transform(Y)
    return Preparation(impute="median").fit_transform(Y)


def trajectory(X: np.ndarray, is_root: np.ndarray | None) -> tuple[np.ndarray, int, Any]:
    """Pseudotime, number of tips and placement of what is learned by default."""
    path = learn(X)
    if is_root is not None and is_root.any():
        path = path.rooted(labels=is_root, value=True, at="auto")
    edges = np.asarray(path.edges_)
    return path.pseudotime_, int(np.sum(np.bincount(edges.ravel()) == 1)), path.placement_


def run_table(known: Set) -> list[Run]:
    """All methods on all ways to remove values of a table."""
    quiet()
    X = known.X
    is_root = known.is_root if known.root else None
    began = time.perf_counter()
    whole, tips, placement = trajectory(X, is_root)
    seconds = time.perf_counter() - began
    if is_root is None:
        is_root = whole <= np.quantile(whole, START)
        whole, tips, placement = trajectory(X, is_root)
    about = {"table": known.name, "n": len(X), "d": X.shape[1], "real": known.real}
    about["true tips"] = known.tips
    found = [{**about, "method": "whole", "tips": tips, "learning": seconds}]
    if known.root:
        found[0]["rho"] = order(known, whole)
    for share in SHARES:
        for kind in KINDS:
            Y = removed(X, share, kind)
            for method in METHODS:
                case = {**about, "share": share, "kind": kind, "method": method}
                found.append(case | run_method(known, Y, method, whole, placement, is_root))
    print(known.name, flush=True)
    return found


def run_method(
    known: Set,
    Y: np.ndarray,
    method: str,
    whole: np.ndarray,
    placement: Any,
    is_root: np.ndarray,
) -> Run:
    """How well one method does on a table with gaps."""
    is_gap = np.isnan(Y)
    rows = ~is_gap.any(axis=1) if method == "drop" else np.ones(len(Y), dtype=bool)
    result: Run = {"rows": int(rows.sum())}
    if rows.sum() < FEWEST_ROWS or not is_root[rows].any():
        return result
    began = time.perf_counter()
    # What Preparation(impute="model") does, whose model is asked for its intervals below.
    found = learn_filling(Y) if method == "model" else None
    F = filled(method, Y) if found is None else fill_rows(Y, *found)
    result["seconds"] = time.perf_counter() - began
    if method != "drop":
        apart = ((F - known.X) / known.X.std(axis=0))[is_gap]
        result["rmse"] = float(np.sqrt(np.mean(apart**2)))
        # How far the spread of filled cells falls short of that of the removed ones.
        truth = ((known.X - known.X.mean(axis=0)) / known.X.std(axis=0))[is_gap]
        put = ((F - known.X.mean(axis=0)) / known.X.std(axis=0))[is_gap]
        result["spread"] = float(put.std() / truth.std())
    if found is not None:
        result["covered"] = covered(known.X, Y, F, found)
    pseudotime, result["tips"], own = trajectory(F, is_root[rows])
    pairs = np.random.default_rng(0).integers(len(F), size=(2, N_PAIRS))
    kept = np.flatnonzero(rows)[pairs]
    result["distances"] = rank_correlation(
        distances_between(placement, *kept), distances_between(own, *pairs)
    )
    result["agreement"] = rank_correlation(whole[rows], pseudotime)
    if known.root:
        part = {"label": known.label[rows], "time": known.time[rows], "X": known.X[rows]}
        result["rho"] = order(Set(**{**vars(known), **part}), pseudotime)
    return result


def covered(X: np.ndarray, Y: np.ndarray, F: np.ndarray, filling: Filling) -> float:
    """The share of removed values in the model's 95 % intervals."""
    model, low, high = filling
    found = condition(model, np.where((low > Y) | (high < Y), np.nan, Y))
    variance = np.einsum("kj,nkm,mj->nj", model.axes, found.covariance, model.axes) + model.noise
    inside = np.abs(X - F) <= 1.96 * np.sqrt(variance)
    return float(inside[np.isnan(Y)].mean())


def run_outliers(known: Set) -> list[Run]:
    """Errors of filled values, as measured, and with values of a wrong unit among those left."""
    quiet()
    Z = (known.X - known.X.mean(axis=0)) / known.X.std(axis=0)
    rng = np.random.default_rng(0)
    spoilt = np.where(rng.random(Z.shape) < SPOILT, TIMES, 1.0)
    found = []
    for outliers, table in ((False, Z), (True, spoilt * Z)):
        is_gap = np.isnan(removed(Z, 0.2, "random"))
        Y = np.where(is_gap, np.nan, table)
        for method in METHODS[:3]:
            F = fill_rows(Y, *learn_filling(Y)) if method == "model" else filled(method, Y)
            error = float(np.sqrt(np.mean((F - Z)[is_gap] ** 2)))
            about = {"table": known.name, "real": known.real, "method": method}
            found.append({**about, "outliers": outliers, "rmse": error})
    print(known.name, "outliers", flush=True)
    return found


def run_null(job: tuple[str, int, np.ndarray]) -> list[Run]:
    """Tips beyond two, where nothing forks."""
    quiet()
    kind, number, X = job
    about = {"null": kind, "number": number}
    found = [{**about, "method": "whole", "tips": trajectory(X, None)[1]}]
    for share in SHARES[1:]:
        for way in KINDS:
            Y = removed(X, share, way)
            for method in METHODS[:3]:
                is_model = method == "model"
                F = fill_rows(Y, *learn_filling(Y)) if is_model else filled(method, Y)
                tips = trajectory(F, None)[1]
                found.append({**about, "share": share, "kind": way, "method": method, "tips": tips})
    print(kind, number, flush=True)
    return found


def quiet() -> None:
    """One thread each, and no warnings of those that have not converged."""
    threadpool_limits(limits=1)
    warnings.simplefilter("ignore")


def measure() -> Run:
    """All tables and nulls."""
    some = [of for of in nulls(N_NULLS, 400, 20) if of[0] in ("round Gaussian", "long Gaussian")]
    began = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        runs = [run for found in pool.map(run_table, tables()) for run in found]
        empty = [run for found in pool.map(run_null, some) for run in found]
    minutes = (time.perf_counter() - began) / 60
    parts = {"runs": runs, "nulls": empty, "outliers": measure_outliers()}
    return {"machine": machine(), "minutes": minutes, **parts}


def measure_outliers() -> list[Run]:
    """All tables."""
    with ProcessPoolExecutor(2) as pool:
        return [run for found in pool.map(run_outliers, tables()) for run in found]


def page_of(document: Run) -> str:
    """The page, from the results alone."""
    runs, machine_ = document["runs"], document["machine"]
    whole = {run["table"]: run for run in runs if run["method"] == "whole"}
    filled_runs = [run for run in runs if run["method"] != "whole"]
    for run in filled_runs:
        run["whole tips"] = whole[run["table"]]["tips"]
    groups = {"tables that a setting was chosen on": True, "other tables": False}
    parts = [
        HEAD.format(minutes=document["minutes"], cores=machine_["cores"], cpu=machine_["cpu"]),
        *(
            f"## {name[0].upper()}{name[1:]}: in the mean\n\n"
            + summary([run for run in filled_runs if (run["table"] in CHOSEN_ON) == chosen])
            for name, chosen in groups.items()
        ),
        "## Where the model loses\n\n" + losses(filled_runs),
        "## With outliers\n\n" + outliers(document["outliers"]),
        "## Nothing forks here\n\n" + forks(document["nulls"]),
        "## Every table\n\n" + every(filled_runs, whole),
    ]
    return "\n\n".join(parts) + "\n"


HEAD = """# Missing values: a tree, medians, other columns, or fewer rows

Generated by `python benchmarks/imputation.py` from `results/imputation.json` ({minutes:.0f}
minutes on {cores} shared cores, {cpu}).

Of whole tables 5, 20 and 40 % of the values are removed: *at random*, or *by value*, where the
chance of a value rises in proportion to its rank in the column (none for the smallest, twice the
share for the largest, as above a limit of detection). *model* is `Preparation(impute="model")`,
*median* `impute="median"`, *iterative* scikit-learn's `IterativeImputer` with its defaults
(BayesianRidge, ten rounds; of more than 60 columns the 20 nearest), *drop* leaves rows with gaps
out. Then a trajectory is learned the default way. Tables are cut to 400 rows and 100 columns at
most, drawn by chance. Tables whose names begin with make_tree, tree_sergio, tree_prosstt or
sc_krumsiek are **simulated**; the others were measured.

- **error**: root mean square of filled minus removed values, in standard deviations of their
  columns. The mean of the column would have 1 at random, and more by value.
- **tree as whole**: rank correlation of the distances of 5,000 pairs of rows along the tree with
  those along the tree of the whole table. No root is in it.
- **time as whole**: rank correlation of pseudotime with that of the whole table. It falls to
  nothing, or below, where the same samples lead to the root at another end.
- **ρ with truth**: rank correlation of pseudotime with known time or stage, mean over lineages.
- **tips as whole**: how often the trajectory has as many tips as that of the whole table.
- **spread**: standard deviation of filled values over that of the removed ones; 1 would be right
  for a table to be looked at, less is right for the smallest error.
- **covered**: the share of removed values in the 95 % intervals of the model.

Settings tried before this: 2, 5 and 10 factors; a prior of 0, 3, 10, 30 and 100 rows on the axes,
or none but on the noise, or as many as axes (kept); the axes of the tree's own fit, or fitted
again around it (kept); one or two rounds. They were chosen by the error alone on eight tables,
which stand apart below."""


def mean_of(runs: list[Run], name: str) -> float:
    """Of the runs that have it."""
    values = [run[name] for run in runs if run.get(name) is not None]
    return float(np.mean(values)) if values else float("nan")


def cell(value: float | None, digits: int = 2) -> str:
    """A number, or a dash."""
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ways(runs: list[Run]) -> list[tuple[float, str, str, list[Run]]]:
    """The runs of every share, kind and method."""
    return [
        (share, kind, method, [r for r in runs if (r["share"], r["kind"], r["method"]) == key])
        for share in SHARES
        for kind in KINDS
        for method in METHODS
        for key in [(share, kind, method)]
    ]


def summary(runs: list[Run]) -> str:
    """Means over tables of every way to remove values and every method."""
    rows = []
    for share, kind, method, some in ways(runs):
        judged = [run for run in some if "agreement" in run]
        same = [run["tips"] == run["whole tips"] for run in judged]
        rows.append(
            [
                f"{share:.0%} {kind}",
                method,
                f"{len(judged)} of {len(some)}",
                cell(mean_of(some, "rmse"), 3),
                cell(mean_of(judged, "distances")),
                cell(mean_of(judged, "agreement")),
                cell(mean_of(judged, "rho")),
                f"{sum(same)} of {len(same)}",
                cell(mean_of(some, "spread")),
                cell(mean_of(some, "covered")),
                cell(mean_of(some, "seconds"), 1),
            ]
        )
    names = ["removed", "method", "tables with a result", "error"]
    names += [
        "tree as whole",
        "time as whole",
        "ρ with truth",
        "tips as whole",
        "spread",
        "covered",
        "seconds",
    ]
    return grid(names, rows)


def losses(runs: list[Run]) -> str:
    """Where another way to fill has the smaller error, or a tree more like the whole one."""
    by = {(r["table"], r["share"], r["kind"], r["method"]): r for r in runs}
    rows = []
    for name, better, digits in (("rmse", -1, 3), ("distances", 1, 2)):
        for (table, share, kind, method), run in by.items():
            if method != "model" or name not in run:
                continue
            others = {
                m: by[table, share, kind, m].get(name)
                for m in METHODS[1:]
                if by[table, share, kind, m].get(name) is not None
            }
            best = max(others, key=lambda m: better * others[m])
            gap = better * (others[best] - run[name])
            if gap > LEAST_LOSS:
                what = {"rmse": "error", "distances": "tree as whole"}[name]
                told = [cell(run[name], digits), f"{cell(others[best], digits)} ({best})"]
                rows.append([what, table, f"{share:.0%} {kind}", *told])
    n = sum(run["method"] == "model" for run in runs)
    text = (
        f"Of {n} tables with values removed, those in which another method is better by more than "
        f"{LEAST_LOSS} (dropping rows is judged on the rows that it keeps, the complete ones):"
    )
    return text + "\n\n" + grid(["measure", "table", "removed", "model", "best other"], rows)


def outliers(runs: list[Run]) -> str:
    """Errors with a wrong unit here and there."""
    rows = []
    for name in dict.fromkeys(run["table"] for run in runs):
        errors = {(r["method"], r["outliers"]): r["rmse"] for r in runs if r["table"] == name}
        rows.append([name, *(cell(errors[m, o]) for o in (False, True) for m in METHODS[:3])])
    means = [
        cell(mean_of([r for r in runs if (r["method"], r["outliers"]) == (m, o)], "rmse"))
        for o in (False, True)
        for m in METHODS[:3]
    ]
    header = ["table", *METHODS[:3], *(f"{method}, outliers" for method in METHODS[:3])]
    text = (
        f"The error with 20 % removed at random, of standardised columns; then with {SPOILT:.0%} "
        f"of the values that are left {TIMES:.0f} times as far from the mean, as by a wrong unit. "
        "The model leaves values far from the others of their column out when it learns and fills: "
        "three times as far beyond the middle nine tenths as these are wide. On these tables one, "
        "two, three and five times were tried, and 5, 10 and 20 median deviations, so that they "
        "are no test of it; scikit-learn's regressions do nothing of the kind."
    )
    return text + "\n\n" + grid(header, [*rows, ["**mean**", *means]])


def forks(runs: list[Run]) -> str:
    """How many nulls got more than two tips."""
    rows = []
    for kind in dict.fromkeys(run["null"] for run in runs):
        some = [run for run in runs if run["null"] == kind]
        false = [run["tips"] > 2 for run in some if run["method"] == "whole"]
        rows.append([kind, "nothing", "–", f"{sum(false)} of {len(false)}"])
        for share in SHARES[1:]:
            for way in KINDS:
                for method in METHODS[:3]:
                    key = (share, way, method)
                    false = [
                        run["tips"] > 2
                        for run in some
                        if (run.get("share"), run.get("kind"), run["method"]) == key
                    ]
                    rows.append(
                        [kind, f"{share:.0%} {way}", method, f"{sum(false)} of {len(false)}"]
                    )
    text = "Simulated clouds of 400 rows and 20 columns; a fork in them is false."
    return text + "\n\n" + grid(["cloud", "removed", "method", "with a false fork"], rows)


def every(runs: list[Run], whole: dict[str, Run]) -> str:
    """Every run, losing ones too."""
    rows = [
        [
            run["table"],
            f"{run['share']:.0%} {run['kind']}",
            run["method"],
            str(run["rows"]),
            cell(run.get("rmse"), 3),
            cell(run.get("distances")),
            cell(run.get("agreement")),
            f"{cell(run.get('rho'))} ({cell(whole[run['table']].get('rho'))})",
            f"{run.get('tips', '–')} ({run['whole tips']})",
            cell(run.get("covered")),
        ]
        for run in runs
    ]
    names = ["table", "removed", "method", "rows", "error", "tree as whole"]
    names += ["time as whole", "ρ with truth (whole)", "tips (whole)", "covered"]
    return grid(names, rows)


def dumps(document: Run) -> str:
    """JSON with a run a line."""
    parts = [json.dumps({k: document[k] for k in ("machine", "minutes")}, indent=1)[:-2]]
    for name in ("runs", "nulls", "outliers"):
        lines = ",\n".join(json.dumps(rounded(run)) for run in document[name])
        parts.append(f' "{name}": [\n{lines}\n ]')
    return ",\n".join(parts) + "\n}\n"


def rounded(run: Run) -> Run:
    """Digits that mean something."""
    return {k: round(v, 3) if isinstance(v, float) else v for k, v in run.items()}


def main() -> None:
    """Measure, unless only the page is wanted, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="only write the page again")
    parser.add_argument("--outliers", action="store_true", help="only measure those again")
    options = parser.parse_args()
    path = HERE / "results" / "imputation.json"
    if options.outliers:
        document = json.loads(path.read_text("utf-8"))
        path.write_text(dumps(document | {"outliers": measure_outliers()}), "utf-8")
    elif not options.render:
        path.write_text(dumps(measure()), "utf-8")
    (HERE / "imputation.md").write_text(page_of(json.loads(path.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
