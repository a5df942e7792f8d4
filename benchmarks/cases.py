"""What is measured: groups of cases, each for the full and for the quick run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MINUTE = 60.0


@dataclass(frozen=True)
class Case:
    """One program on one data set.

    Attributes
    ----------
    name : str
        Unique within its group.
    data, params : dict
        What `data.simulate` and the program's fit are called with; "5N" is five times the rows.
    iterations : (few, many) or None
        Also measure seconds per iteration, as the difference of two fits; `seconds` is that of
        the fit with many.
    pilot : dict or None
        Decides the number of threads on a smaller version of the case: "n" and further
        parameters. Without it every thread count runs the case itself.
    repeats : int
        Processes. Within one, a fit of less than two seconds is repeated as well.
    timeout : float
        Seconds after which the process is ended; the time is then a lower bound.
    threads : int, "all" or None
        A fixed number of threads instead of the best one.
    """

    name: str
    program: str
    data: dict[str, Any]
    params: dict[str, Any] = field(default_factory=dict)
    mode: str = "fit"
    iterations: tuple[int, int] | None = None
    pilot: dict[str, Any] | None = None
    repeats: int = 3
    timeout: float = 30 * MINUTE
    threads: int | str | None = None
    extras: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    neighbors: int | None = None


@dataclass(frozen=True)
class Group:
    """Cases that belong in one table."""

    title: str
    text: str
    cases: Callable[[bool], list[Case]]


def data(name: str, n: int, **options: Any) -> dict[str, Any]:
    """Simulated data with 50 features."""
    return {"name": name, "n": n, "n_features": 50, **options}


def ddrtree_one_centre_per_point(quick: bool) -> list[Case]:
    """Two implementations with the same parameters and the same iterations."""
    cases = []
    for n in (300, 600) if quick else (500, 1000, 2000):
        common = {"gamma": 10.0, "sigma": 1e-3, "max_iter": 20, "tol": 0}
        for program, params in (
            ("branchwise.DDRTree", {"n_components": 2, "n_centers": None, "lam": "5N"}),
            ("ddrtree-python", {"dimensions": 2, "lambda_": "5N"}),
        ):
            cases.append(
                Case(
                    f"{program} N={n}",
                    program,
                    data("branching", n),
                    {**params, **common},
                    extras=("objective",),
                    pilot={"n": 300} if quick else {"n": 1000},
                    repeats=1 if quick or (n, program) == (2000, "ddrtree-python") else 3,
                )
            )
    return cases


def ddrtree_growth(quick: bool) -> list[Case]:
    """K = N with σ from the data: how the cost of an iteration grows."""
    sizes = (1000, 2000, 5000) if quick else (1000, 3000, 10_000, 30_000)
    pilot = {"n": 1000 if quick else 10_000}
    cases = [one_centre_per_point(n, 1 if quick else 3, pilot) for n in sizes]
    if not quick:
        cases.append(one_centre_per_point(100_000, 1, pilot))
    return cases


def one_centre_per_point(n: int, repeats: int, pilot: dict[str, Any]) -> Case:
    """K = N at σ = "auto"; the largest case runs once and without the difference."""
    params = {"n_components": 2, "n_centers": None, "lam": "5N", "gamma": 10.0, "tol": 0}
    large = n > 30_000
    return Case(
        f"N={n}",
        "branchwise.DDRTree",
        data("branching", n),
        {**params, "sigma": "auto", "max_iter": 20},
        iterations=None if large else (2, 20),
        pilot=pilot,
        repeats=repeats,
        timeout=40 * MINUTE,
    )


def ddrtree_few_centres(quick: bool) -> list[Case]:
    """133 centres: seconds per iteration of three programs."""
    table = data("branching", 4000 if quick else 10_000)
    shorter: dict[str, Any] = {
        "iterations": (3, 13) if quick else (5, 25),
        "pilot": {"n": 1000} if quick else None,
        "repeats": 1 if quick else 3,
    }
    shared = {"gamma": 10.0, "sigma": 1e-3, "tol": 0}
    branchwise = {"n_components": 2, "n_centers": 133, "tol": 0, "random_state": 0}
    return [
        Case(
            "branchwise, parameters of ddrtree-python",
            "branchwise.DDRTree",
            table,
            {**branchwise, **shared, "lam": "5N"},
            **shorter,
            extras=("objective",),
        ),
        Case(
            "branchwise, own defaults",
            "branchwise.DDRTree",
            table,
            branchwise,
            **shorter,
        ),
        Case(
            "ddrtree-python",
            "ddrtree-python",
            table,
            {"dimensions": 2, "ncenter": 133, "lambda_": "5N", **shared},
            **shorter,
            extras=("objective",),
        ),
        Case(
            "simpleppt",
            "simpleppt",
            table,
            {"Nodes": 133, "err_cut": 0},
            **shorter,
        ),
    ]


def million(n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The large table, and branchwise's parameters for it."""
    params = {"n_components": 2, "n_centers": 1000, "max_iter": 20, "tol": 0, "random_state": 0}
    return data("branching", n, dtype="float32"), params


def ddrtree_million(quick: bool) -> list[Case]:
    """1,000 centres, up to a million rows in single precision."""
    sizes = (10_000, 50_000) if quick else (10_000, 100_000, 1_000_000)
    cases = []
    for n in sizes:
        table, params = million(n)
        cases.append(
            Case(
                f"N={n}",
                "branchwise.DDRTree",
                table,
                params,
                iterations=(4, 20),
                pilot={"n": 10_000 if quick else 100_000},
                repeats=1 if quick else 3 if n < 1_000_000 else 2,
                extras=("gram",),
                timeout=60 * MINUTE,
            )
        )
    table, params = million(sizes[0] if quick else sizes[-1])
    cases.append(
        Case("profile", "branchwise.DDRTree", table, params, mode="profile", repeats=1, threads=1)
    )
    return cases


def umap_million(quick: bool) -> list[Case]:
    """umap-learn with its defaults on the same array."""
    n = 10_000 if quick else 1_000_000
    table, params = million(n)
    umap = Case(
        "umap-learn",
        "umap-learn",
        table,
        repeats=1,
        # Long enough to tell whether branchwise is five times faster; the rest is a lower bound.
        timeout=20 * MINUTE,
        # Its default; compiling takes umap most of a minute in every process, too long to try both.
        threads="all",
    )
    if not quick:
        return [umap]
    # The quick run has no fit of branchwise of this size elsewhere.
    return [Case("branchwise", "branchwise.DDRTree", table, params, repeats=1), umap]


def drtree(quick: bool) -> list[Case]:
    """One node per sample."""
    return [
        Case(
            f"N={n}",
            "branchwise.DRTree",
            data("branching", n),
            {"n_components": 2, "max_iter": 20, "tol": 0},
            pilot={"n": 10_000},
            repeats=1 if quick else 3,
        )
        for n in ((10_000,) if quick else (10_000, 30_000, 100_000))
    ]


def spl_certified(quick: bool) -> list[Case]:
    """SPL to a proven relative gap."""
    n = 1000 if quick else 5000
    return [
        Case(
            f"N={n}",
            "branchwise.SPL",
            data("intrinsic10", n),
            {"n_components": 12, "n_neighbors": 10, "tol": 1e-4},
            pilot={"n": 1000},
            repeats=1,
            timeout=60 * MINUTE,
            extras=("certificate",),
        )
    ]


def spl_growth(quick: bool) -> list[Case]:
    """SPL on large data, the neighbours being given."""
    sizes = {
        "surface": (1000, 4000) if quick else (10_000, 30_000, 100_000, 200_000),
        "intrinsic10": (1000, 2000) if quick else (10_000, 20_000, 50_000),
    }
    cases = []
    for name, ns in sizes.items():
        for n in ns:
            cases.append(
                Case(
                    f"{name} N={n}",
                    "branchwise.SPL",
                    data(name, n),
                    {"n_components": 2, "n_neighbors": 10, "solver": "auto", "random_state": 0},
                    pilot={"n": ns[0]},
                    repeats=1,
                    timeout=2 * MINUTE if quick else 40 * MINUTE,
                    neighbors=10,
                )
            )
    return cases


def spl_accuracy(quick: bool) -> list[Case]:
    """SPL's paths for large data against the exact one."""
    sizes = (500,) if quick else (1000, 3000)
    return [
        Case(
            f"{name} N={n}",
            "branchwise.SPL",
            data(name, n),
            {"n_components": 2, "n_neighbors": 10, "random_state": 0},
            mode="accuracy",
            repeats=1,
            timeout=30 * MINUTE,
            threads="all",
        )
        for name in ("surface", "intrinsic10")
        for n in sizes
    ]


def spl_subgradient(quick: bool) -> list[Case]:
    """Time to the same objective, against the paper's Algorithm 1."""
    n = 300 if quick else 1000
    params = {"n_components": 2, "n_neighbors": 10}
    table = data("surface", n)
    return [
        Case(
            "branchwise",
            "branchwise.SPL",
            table,
            params,
            mode="to-objective",
            repeats=1 if quick else 3,
            options={"tolerance": 0.01},
        ),
        Case(
            "Algorithm 1",
            "Algorithm 1",
            table,
            params,
            mode="subgradient",
            pilot={"n": n, "max_steps": 10},
            repeats=1,
            options={"tolerance": 0.01, "max_seconds": 5.0 if quick else 30.0},
        ),
    ]


def elpigraph(quick: bool) -> list[Case]:
    """A principal tree of 50 nodes, whole fits."""
    n, nodes = (2000, 20) if quick else (10_000, 50)
    table = data("branching", n)
    branchwise = {"n_components": 3, "random_state": 0}
    return [
        *(
            Case(
                name,
                "branchwise.DDRTree",
                table,
                {**branchwise, **params},
                repeats=1 if quick else 3,
                extras=("tree",),
            )
            for name, params in (
                (f"{nodes} centres", {"n_centers": nodes}),
                (f"{nodes} centres, λ = 0.02·N", {"n_centers": nodes, "lam": 0.02 * n}),
                ("centres by default", {}),
            )
        ),
        Case(
            "elpigraph-python",
            "elpigraph-python",
            table,
            {"NumNodes": nodes},
            pilot={"n": 1000, "NumNodes": 15} if quick else {"n": n, "NumNodes": 20},
            repeats=1,
            extras=("tree",),
        ),
    ]


def first_call(quick: bool) -> list[Case]:
    """What compiling costs once per installation."""
    return [
        Case(
            name,
            f"branchwise.{name}",
            data("branching", 500),
            {"max_iter": 5},
            mode="first-call",
            repeats=1,
            threads=1,
        )
        for name in (("DDRTree",) if quick else ("DDRTree", "DRTree", "SPL"))
    ]


# In the order in which they run: the longest last.
GROUPS = {
    "first-call": Group(
        "First call",
        "Compiled functions are kept on disk. This is a fit to 500 rows with an empty cache, "
        "then the same fit again in the same process; all other times here are without compiling.",
        first_call,
    ),
    "ddrtree-k-equals-n": Group(
        "DDRTree, one centre per point, against ddrtree-python",
        "λ = 5N, γ = 10, σ = 1e-3, d = 2, 20 iterations. The objective is the paper's, evaluated "
        "by `objective.py` for both.",
        ddrtree_one_centre_per_point,
    ),
    "ddrtree-growth": Group(
        'DDRTree, one centre per point, σ = "auto"',
        "λ = 5N, γ = 10, d = 2, 20 iterations; seconds per iteration from fits of 2 and of 20.",
        ddrtree_growth,
    ),
    "ddrtree-few-centres": Group(
        "DDRTree, 133 centres",
        "Seconds per iteration from fits of 5 and of 25 iterations, so that no program's start "
        "counts. simpleppt minimises another objective in the space of all features, with its "
        "defaults.",
        ddrtree_few_centres,
    ),
    "ddrtree-million": Group(
        "DDRTree, up to a million rows, 1,000 centres",
        "Single precision, d = 2, 20 iterations, whole fits; seconds per iteration from fits of 4 "
        "and of 20, next to one product YᵀY of the same array with the same threads.",
        ddrtree_million,
    ),
    "drtree": Group("DRTree", "d = 2, 20 iterations.", drtree),
    "spl-certified": Group(
        "SPL, to a certified gap",
        "12 components, 10 neighbours, until the optimum is proven to be within `tol` = 1e-4. The "
        "proof is repeated with dense matrices for the learned weights.",
        spl_certified,
    ),
    "spl-accuracy": Group(
        "SPL, the paths for large data against the exact solution",
        "The objective is evaluated exactly at the weights that each path learned.",
        spl_accuracy,
    ),
    "spl-subgradient": Group(
        "SPL against the paper's Algorithm 1",
        "Seconds until the objective is short of the optimum by at most 1 % of the way up from "
        "S = 0, where Algorithm 1 starts. The same edges, the same scale; evaluating "
        "the objective is not counted for Algorithm 1.",
        spl_subgradient,
    ),
    "spl-growth": Group(
        "SPL on large data",
        "2 components, 10 neighbours, the path chosen automatically. The neighbours are "
        "searched first, exactly, and timed apart.",
        spl_growth,
    ),
    "elpigraph": Group(
        "DDRTree against elpigraph-python",
        "Whole fits to convergence with the defaults of each; tree: correlation (Pearson) of "
        "distances along the learned tree with those along the true one, 2,000 points.",
        elpigraph,
    ),
    "umap": Group(
        "DDRTree against umap-learn",
        "umap-learn's defaults on the array of the million-row case above.",
        umap_million,
    ),
}
