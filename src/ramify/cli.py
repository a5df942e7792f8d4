"""The command line: arguments -> files -> estimator -> files. No mathematics here."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__

DEMO_HELP = """\
Fit DDRTree to scikit-learn's breast-cancer table (569 real tumours, 30 measurements each,
shipped with scikit-learn, no download) and write embedding.csv, centers.csv, tree.csv and
tree.png into a folder.

example:
  ramify demo -o ramify-demo
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog="ramify",
        description="Learn a low-dimensional embedding together with the tree the data lie on.",
    )
    parser.add_argument("--version", action="version", version=f"ramify {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="fit a tree to real data in seconds",
        description=DEMO_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("ramify-demo"),
        metavar="FOLDER",
        help="folder to write into, made if needed (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        run_demo(options.out)
    except (OSError, ImportError) as error:
        print(f"ramify: {error}", file=sys.stderr)
        return 1
    return 0


def run_demo(out: Path) -> None:
    """Fit the breast-cancer table, print a summary and write the results."""
    # Imported here, so that help and usage errors come at once.
    import numpy as np
    from scipy import sparse
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    from .estimators import DDRTree
    from .graph import count_branches
    from .io import write_table

    plt, plot_embedding = import_plotting()
    out.mkdir(parents=True, exist_ok=True)
    table = load_breast_cancer()
    X = StandardScaler().fit_transform(table.data)
    diagnosis = table.target_names[table.target]

    start = time.perf_counter()
    DDRTree(n_components=2, max_iter=1, tol=0, random_state=0).fit(X)  # loads or compiles kernels
    ready = time.perf_counter()
    model = DDRTree(n_components=2, random_state=0).fit(X)
    seconds = time.perf_counter() - ready

    names = list(model.get_feature_names_out())
    write_table(
        out / "embedding.csv",
        ["sample", "diagnosis", *names, "center"],
        (
            (i, kind, *position, center)
            for i, (kind, position, center) in enumerate(
                zip(diagnosis, model.embedding_, model.labels_, strict=True)
            )
        ),
    )
    write_table(
        out / "centers.csv",
        ["center", *names],
        ((k, *position) for k, position in enumerate(model.centers_)),
    )
    edges = sparse.triu(model.tree_).tocoo()
    lengths = np.linalg.norm(model.centers_[edges.row] - model.centers_[edges.col], axis=1)
    write_table(
        out / "tree.csv",
        ["source", "target", "length"],
        zip(edges.row, edges.col, lengths, strict=True),
    )
    ax = plot_embedding(model, color=diagnosis, color_name="diagnosis")
    ax.set_title(f"DDRTree of {len(X)} breast tumours, {X.shape[1]} standardised measurements")
    ax.figure.savefig(out / "tree.png", dpi=150)
    plt.close(ax.figure)

    tips, forks, branches = count_branches(model.tree_)
    outcome = "converged" if model.converged_ else "stopped"
    print(
        f"data       {len(X)} tumours x {X.shape[1]} standardised measurements "
        f"({', '.join(f'{np.sum(diagnosis == k)} {k}' for k in table.target_names)})\n"
        f"tree       {len(model.centers_)} centres, {edges.nnz} edges, "
        f"{lengths.sum():.1f} long in all\n"
        f"branches   {branches} between {tips} tips and {forks} forks\n"
        f"objective  {model.objective_:.6g} ({outcome} after {model.n_iter_} iterations)\n"
        f"time       {seconds:.2f} s, after {ready - start:.1f} s to load the compiled kernels\n"
        f"written    centers.csv, embedding.csv, tree.csv, tree.png in {out}/"
    )


def import_plotting() -> tuple[Any, Any]:
    """Matplotlib is an extra: say how to get it rather than fail in the middle."""
    try:
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot

        from .plotting import plot_embedding
    except ImportError as error:
        raise ImportError(
            "the picture needs matplotlib; run: pip install 'ramify[plot]'"
        ) from error
    return pyplot, plot_embedding


if __name__ == "__main__":
    sys.exit(main())
