"""What branchwise promises, as a list that is checked against the results of a run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from measures import loglog_slope, share_growing

Record = dict[str, Any]
Results = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """A number to compare with a bound, and how to show it."""

    value: float
    text: str
    # A program that did not finish gives a ratio that can only be larger.
    is_lower_bound: bool = False


@dataclass(frozen=True)
class Target:
    """One promise: `measure(results)` is at least, or at most, `bound`; None if not measured."""

    text: str
    measure: Callable[[Results], Measured | None]
    bound: float
    at_least: bool

    def check(self, results: Results) -> dict[str, Any]:
        """The row of the table, as plain data."""
        measured = self.measure(results)
        row: dict[str, Any] = {
            "target": self.text,
            "bound": self.bound,
            "sense": "at least" if self.at_least else "at most",
            "measured": None,
            "shown": "not measured",
            "holds": None,
        }
        if measured is None:
            return row
        value = measured.value
        holds = value >= self.bound if self.at_least else value <= self.bound
        if measured.is_lower_bound and not holds:
            # "At least so much" proves nothing when it is not enough.
            return {**row, "measured": value, "shown": measured.text}
        return {**row, "measured": value, "shown": measured.text, "holds": bool(holds)}


def finished(results: Results, group: str, *, mode: str = "fit") -> list[Record]:
    """Records of a group that were measured, smallest data first."""
    cases = results.get(group, {}).get("cases", [])
    found = [case for case in cases if case["status"] == "ok" and case["mode"] == mode]
    return sorted(found, key=lambda case: case["data"]["n"])


def pick(records: list[Record], program: str) -> Record | None:
    """The record of a program on the largest data."""
    found = [record for record in records if record["program"] == program]
    return found[-1] if found else None


def times_faster(ratio: float, where: str) -> Measured:
    """A ratio of times."""
    return Measured(ratio, f"{ratio:.1f}× ({where})")


def one_centre_per_point(results: Results) -> tuple[Record, Record] | None:
    """Both implementations of DDRTree on the largest data that both were run on."""
    records = finished(results, "ddrtree-k-equals-n")
    theirs = pick(records, "ddrtree-python")
    if theirs is None:
        return None
    same = [record for record in records if record["data"] == theirs["data"]]
    ours = pick(same, "branchwise.DDRTree")
    return None if ours is None else (ours, theirs)


def speed_one_centre_per_point(results: Results) -> Measured | None:
    """Ratio of the medians at the largest N."""
    pair = one_centre_per_point(results)
    if pair is None:
        return None
    ours, theirs = pair
    ratio = theirs["seconds"]["median"] / ours["seconds"]["median"]
    return times_faster(ratio, f"N = {ours['data']['n']:,}")


def objective_one_centre_per_point(results: Results) -> Measured | None:
    """(ours − theirs)/|theirs|: negative is lower, which is better."""
    pair = one_centre_per_point(results)
    if pair is None:
        return None
    ours, theirs = (record["runs"][0]["objective"]["value"] for record in pair)
    difference = (ours - theirs) / abs(theirs)
    return Measured(difference, f"{difference:+.1e} ({ours:.8g} against {theirs:.8g})")


def growth(
    group: str, cost: str, *, name: str = "", up_to: int | None = None
) -> Callable[[Results], Measured | None]:
    """Log–log slope of a cost over the sizes of a group."""

    def measure(results: Results) -> Measured | None:
        records = [
            record
            for record in finished(results, group)
            if cost in record
            and record["program"].startswith("branchwise")
            and record["name"].startswith(name)
            and record["data"]["n"] <= (up_to or record["data"]["n"])
        ]
        if len(records) < 2:
            return None
        sizes = [record["data"]["n"] for record in records]
        slope = loglog_slope(sizes, [record[cost]["median"] for record in records])
        return Measured(slope, f"{slope:.2f} (N = {sizes[0]:,} to {sizes[-1]:,})")

    return measure


def peak_gib(
    group: str, *, name: str = "", at_least_n: int = 0
) -> Callable[[Results], Measured | None]:
    """Peak memory of the largest case of a group, with imports, in GiB."""

    def measure(results: Results) -> Measured | None:
        records = [
            record
            for record in finished(results, group)
            if record["program"].startswith("branchwise")
            and record["name"].startswith(name)
            and (record["data"]["n"] >= at_least_n or results[group]["quick"])
        ]
        if not records:
            return None
        peak = records[-1]["peak_mib"] / 1024
        return Measured(peak, f"{peak:.2f} GiB (N = {records[-1]['data']['n']:,})")

    return measure


def per_iteration_against(program: str) -> Callable[[Results], Measured | None]:
    """Ratio of seconds per iteration with 133 centres, by the slower of our two settings."""

    def measure(results: Results) -> Measured | None:
        records = finished(results, "ddrtree-few-centres")
        theirs = pick(records, program)
        ours = [record for record in records if record["program"] == "branchwise.DDRTree"]
        if theirs is None or not ours:
            return None
        slowest = max(record["per_iteration"]["median"] for record in ours)
        ratio = theirs["per_iteration"]["median"] / slowest
        return times_faster(ratio, f"N = {theirs['data']['n']:,}")

    return measure


def against_umap(results: Results) -> Measured | None:
    """Ratio of whole fits on the same array; a lower bound if umap did not finish."""
    cases = results.get("umap", {}).get("cases", [])
    umap = next((case for case in cases if case["program"] == "umap-learn"), None)
    if umap is None or umap["status"] not in ("ok", "timeout"):
        return None
    records = finished(results, "ddrtree-million") + finished(results, "umap")
    same = [record for record in records if record["data"] == umap["data"]]
    ours = pick(same, "branchwise.DDRTree")
    if ours is None:
        return None
    cut_off = umap["status"] == "timeout"
    seconds = umap["timeout"] if cut_off else umap["seconds"]["median"]
    ratio = seconds / ours["seconds"]["median"]
    where = f"N = {umap['data']['n']:,}"
    if cut_off:
        return Measured(ratio, f"more than {ratio:.1f}× ({where})", is_lower_bound=True)
    return times_faster(ratio, where)


def memory_million(results: Results) -> Measured | None:
    """Peak over the imports, in sizes of the input."""
    ours = pick(finished(results, "ddrtree-million"), "branchwise.DDRTree")
    if ours is None:
        return None
    ratio = ours["peak_over_imports_mib"] / ours["input_mib"]
    shown = f"{ratio:.2f}× ({ours['peak_over_imports_mib']:.0f} of {ours['input_mib']:.0f} MiB, "
    return Measured(ratio, f"{shown}N = {ours['data']['n']:,})")


def share_of_passes(results: Results) -> Measured | None:
    """Part of an iteration's time that grows with N at the largest N."""
    records = [r for r in finished(results, "ddrtree-million") if "per_iteration" in r]
    if len(records) < 2:
        return None
    sizes = [record["data"]["n"] for record in records]
    share = share_growing(sizes, [record["per_iteration"]["median"] for record in records])
    return Measured(share, f"{share:.0%} (N = {sizes[-1]:,})")


def drtree_peak(results: Results) -> Measured | None:
    """Peak over the imports in units of an N×N matrix of bytes."""
    ours = pick(finished(results, "drtree"), "branchwise.DRTree")
    if ours is None:
        return None
    n = ours["data"]["n"]
    ratio = ours["peak_over_imports_mib"] * 2**20 / n**2
    shown = f"{ours['peak_over_imports_mib']:.0f} MiB, {ratio:.3f} bytes per pair of points"
    return Measured(ratio, f"{shown} (N = {n:,})")


def certified_gap(results: Results) -> Measured | None:
    """The gap proven for the learned weights, relative as in the estimator's `tol`."""
    ours = pick(finished(results, "spl-certified"), "branchwise.SPL")
    if ours is None:
        return None
    gap = ours["runs"][0]["certificate"]["relative"]
    solver = ours["runs"][0]["fitted"].get("solver_", "exact")
    return Measured(gap, f"{gap:.1e} (N = {ours['data']['n']:,}, {solver})")


def accuracy(key: str, *, worst: Callable[..., float]) -> Callable[[Results], Measured | None]:
    """The worst of a measure over the two paths for large data and all problems."""

    def measure(results: Results) -> Measured | None:
        values = [
            (run[solver][key], f"{record['name']}, {solver}")
            for record in finished(results, "spl-accuracy", mode="accuracy")
            for run in record["runs"]
            for solver in ("sparse", "sketch")
        ]
        if not values:
            return None
        value, where = worst(values)
        shown = f"{value:.5f}" if key == "procrustes" else f"{value:.2%}"
        return Measured(value, f"{shown} (worst: {where})")

    return measure


def against_algorithm_1(results: Results) -> Measured | None:
    """Ratio of the times to the same objective; a lower bound if Algorithm 1 did not get there."""
    ours = pick(finished(results, "spl-subgradient", mode="to-objective"), "branchwise.SPL")
    theirs = pick(finished(results, "spl-subgradient", mode="subgradient"), "Algorithm 1")
    if ours is None or theirs is None:
        return None
    ratio = theirs["seconds"]["median"] / ours["seconds"]["median"]
    where = f"N = {ours['data']['n']:,}"
    run = theirs["runs"][0]
    if run["reached"]:
        return times_faster(ratio, where)
    shown = f"more than {ratio:.0f}× ({where}; it reached {run['objective']:.4g} after "
    shown += f"{run['seconds']:.0f} s, the optimum is {run['optimum']:.4g})"
    return Measured(ratio, shown, is_lower_bound=True)


def elpigraph_pair(results: Results, name: str) -> tuple[Record, Record] | None:
    """The fit of branchwise whose name ends so, and elpigraph's."""
    records = finished(results, "elpigraph")
    ours = [record for record in records if record["name"].endswith(name)]
    theirs = pick(records, "elpigraph-python")
    return None if not ours or theirs is None else (ours[0], theirs)


def speed_elpigraph(name: str) -> Callable[[Results], Measured | None]:
    """Ratio of whole fits."""

    def measure(results: Results) -> Measured | None:
        pair = elpigraph_pair(results, name)
        if pair is None:
            return None
        ratio = pair[1]["seconds"]["median"] / pair[0]["seconds"]["median"]
        return times_faster(ratio, f"N = {pair[0]['data']['n']:,}")

    return measure


def tree_elpigraph(name: str) -> Callable[[Results], Measured | None]:
    """Our correlation with the true distances minus theirs."""

    def measure(results: Results) -> Measured | None:
        pair = elpigraph_pair(results, name)
        if pair is None:
            return None
        ours, theirs = (record["runs"][0]["tree"]["pearson"] for record in pair)
        return Measured(ours - theirs, f"{ours:.4f} against {theirs:.4f}")

    return measure


TARGETS = (
    Target(
        "DDRTree, K = N = 2,000, 20 iterations: at least 25× faster than ddrtree-python",
        speed_one_centre_per_point,
        25.0,
        at_least=True,
    ),
    Target(
        "… with the same objective (relative difference 1e-6) or a lower one",
        objective_one_centre_per_point,
        1e-6,
        at_least=False,
    ),
    Target(
        'DDRTree, K = N, σ = "auto": seconds per iteration grow with a log–log slope of at most '
        "1.25 from N = 1,000 to 30,000",
        growth("ddrtree-growth", "per_iteration", up_to=30_000),
        1.25,
        at_least=False,
    ),
    Target(
        "DDRTree, K = N = 100,000: completes below 8 GiB",
        peak_gib("ddrtree-growth", at_least_n=100_000),
        8.0,
        at_least=False,
    ),
    Target(
        "DDRTree, 10,000 × 50, 133 centres: at least 5× faster per iteration than ddrtree-python",
        per_iteration_against("ddrtree-python"),
        5.0,
        at_least=True,
    ),
    Target(
        "… and at least 2× faster per iteration than simpleppt",
        per_iteration_against("simpleppt"),
        2.0,
        at_least=True,
    ),
    Target(
        "DDRTree, 1,000,000 × 50, 1,000 centres, 20 iterations: at least 5× faster than umap-learn",
        against_umap,
        5.0,
        at_least=True,
    ),
    Target(
        "… with a peak of at most 2.5× the input over the imports",
        memory_million,
        2.5,
        at_least=False,
    ),
    Target(
        "… whole fits growing with a log–log slope of at most 1.1 from N = 10⁴ to 10⁶",
        growth("ddrtree-million", "seconds"),
        1.1,
        at_least=False,
    ),
    Target(
        "… at least half of an iteration spent on passes over the data (what grows with N)",
        share_of_passes,
        0.5,
        at_least=True,
    ),
    Target(
        "DRTree, 100,000 × 50, 20 iterations: no N×N object (less than one byte per pair)",
        drtree_peak,
        1.0,
        at_least=False,
    ),
    Target(
        "SPL, N = 5,000, d = 12, k = 10: certified relative gap of at most 1e-4",
        certified_gap,
        1e-4,
        at_least=False,
    ),
    Target(
        "SPL, noisy surface: seconds grow with a log–log slope of at most 1.3 "
        "from N = 10,000 to 200,000, neighbour search apart",
        growth("spl-growth", "seconds", name="surface"),
        1.3,
        at_least=False,
    ),
    Target(
        "… N = 200,000 below 8 GiB",
        peak_gib("spl-growth", name="surface", at_least_n=200_000),
        8.0,
        at_least=False,
    ),
    Target(
        "SPL, intrinsic dimension 10: slope of at most 1.3 from N = 10,000 to 50,000",
        growth("spl-growth", "seconds", name="intrinsic10"),
        1.3,
        at_least=False,
    ),
    Target(
        "… N = 50,000 below 8 GiB",
        peak_gib("spl-growth", name="intrinsic10", at_least_n=50_000),
        8.0,
        at_least=False,
    ),
    Target(
        "SPL, N ≤ 3,000: objective of the paths for large data within 1 % of the exact optimum",
        accuracy("difference", worst=max),
        0.01,
        at_least=False,
    ),
    Target(
        "… and Procrustes correlation of the embeddings at least 0.99",
        accuracy("procrustes", worst=min),
        0.99,
        at_least=True,
    ),
    Target(
        "SPL: at least 50× less time than the paper's Algorithm 1 to the same objective",
        against_algorithm_1,
        50.0,
        at_least=True,
    ),
    Target(
        "DDRTree, 10,000 × 50, 50 centres: at least 20× faster than elpigraph-python with 50 nodes",
        speed_elpigraph(" centres"),
        20.0,
        at_least=True,
    ),
    Target(
        "… with at least as good a tree (correlation with the true distances)",
        tree_elpigraph(" centres"),
        0.0,
        at_least=True,
    ),
    Target(
        "The same with DDRTree's default number of centres: at least 20× faster",
        speed_elpigraph("by default"),
        20.0,
        at_least=True,
    ),
    Target(
        "… with at least as good a tree",
        tree_elpigraph("by default"),
        0.0,
        at_least=True,
    ),
)
