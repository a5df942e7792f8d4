"""`branchwise demo`: a fit of real data that needs no file."""

import argparse

from sklearn.datasets import load_breast_cancer

from ..data.table import Table
from ..estimators import DDRTree
from .arguments import build_parser
from .console import Console
from .fit import describe, fit
from .request import parse_request
from .results import check_out

SOURCE = "scikit-learn's breast-cancer table"


def run(options: argparse.Namespace, console: Console) -> None:
    """Fit the breast-cancer table as `branchwise fit` would; an older demo is replaced."""
    check_out(options.out, force=True)
    console.stage("compile")
    table = tumours()
    DDRTree(max_iter=1, tol=0, random_state=0).fit(table.X)  # loads or compiles the inner loops
    given = ["fit", SOURCE, "--out", str(options.out), "--force", "--standardize"]
    given += ["--root", "diagnosis=benign", "--color", "diagnosis", "pseudotime"]
    request = parse_request(build_parser().parse_args(given))
    facts = fit(table, request, console)
    console.result(facts, describe(facts, options.out))


def tumours() -> Table:
    """569 real tumours, with the diagnosis as an annotation that the method does not see."""
    data = load_breast_cancer(as_frame=True)
    samples = [str(name) for name in data.data.index]
    diagnosis = data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")
    return Table(
        X=data.data.to_numpy(),
        features=data.data.columns.tolist(),
        samples=samples,
        annotations=diagnosis.to_frame().set_axis(samples),
        source=SOURCE,
    )
