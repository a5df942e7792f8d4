"""Tables, targets and a picture from the results: ``python render.py RESULTS [--print]``.

The full results are written into `README.md`, between its markers. Those of a quick run stay in
their own folder.
"""

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

from cases import GROUPS
from targets import TARGETS, finished

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin generated -->", "<!-- end generated -->"
PICTURE = "scaling.png"
CAPTION = (
    "Seconds against samples, both logarithmic; dotted: proportional to the samples. "
    "All data are simulated."
)
Record = dict[str, Any]


def main(folder: str, *flags: str) -> None:
    """Render the results in a folder."""
    results_folder = Path(folder)
    results = load(results_folder)
    quick = results_folder.name != "results"
    home = results_folder if quick else HERE
    targets = json.dumps(
        [target.check(results) for target in TARGETS], indent=1, ensure_ascii=False
    )
    (results_folder / "targets.json").write_text(targets + "\n", "utf-8")
    draw(results, home / PICTURE)
    text = generated(results, quick=quick)
    readme = home / "README.md"
    old = readme.read_text("utf-8") if readme.exists() else f"{BEGIN}\n{END}\n"
    readme.write_text(between_markers(old, text), "utf-8")
    if "--print" in flags:
        print(text)


def load(folder: Path) -> dict[str, Any]:
    """The results of all groups that have been run, by name."""
    files = [folder / f"{name}.json" for name in GROUPS]
    return {path.stem: json.loads(path.read_text("utf-8")) for path in files if path.exists()}


def generated(results: dict[str, Any], *, quick: bool) -> str:
    """Everything between the markers."""
    if not results:
        return "Nothing has been measured yet."
    parts = [
        introduction(results, quick=quick),
        target_table([target.check(results) for target in TARGETS]),
        f"![{CAPTION}]({PICTURE})\n\n{CAPTION}" if panels(results) else "",
        *(group_section(name, document) for name, document in results.items()),
    ]
    return "\n\n".join(part for part in parts if part)


def between_markers(old: str, text: str) -> str:
    """The old page with the part between the markers replaced."""
    if BEGIN not in old or END not in old:
        raise ValueError(f"README.md needs the lines {BEGIN!r} and {END!r}.")
    before, rest = old.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END, 1)[1]}"


def introduction(results: dict[str, Any], *, quick: bool) -> str:
    """The machine and the versions."""
    newest = max(results.values(), key=lambda document: document["date"])
    machine = newest["machine"]
    versions: dict[str, str] = {}
    for document in results.values():
        versions.update(document["versions"])
    dates = sorted({document["date"] for document in results.values()})
    shown = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    note = (
        "**A quick run: small sizes, to see that everything works. Targets are for the full one.** "
    )
    return (
        f"{note if quick else ''}Measured {' to '.join(sorted({dates[0], dates[-1]}))} on "
        f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_gib']:.0f} GiB, "
        f"Python {machine['python']}. {shown}."
    )


def target_table(rows: list[dict[str, Any]]) -> str:
    """Target, measured, holds."""
    words = {True: "yes", False: "**no**", None: "open"}
    body = [[row["target"], row["shown"], words[row["holds"]]] for row in rows]
    return "### Targets\n\n" + table(["target", "measured", "holds"], body)


def group_section(name: str, document: dict[str, Any]) -> str:
    """Title, text and table of a group; what has its own shape comes after."""
    group = GROUPS[name]
    parts = [f"### {group.title}", group.text]
    cases = document["cases"]
    timed = [case for case in cases if case["mode"] not in ("accuracy", "profile")]
    if timed:
        parts.append(case_table(timed))
    compared = [case for case in cases if case["mode"] == "accuracy"]
    if compared:
        parts.append(accuracy_table(compared))
    for case in cases:
        if case["mode"] == "profile" and case["status"] == "ok":
            parts.append(profile_table(case))
    return "\n\n".join(parts)


# Heading, and the cell of a record; a column with no entry in a group is left out.
COLUMNS: tuple[tuple[str, Any], ...] = (
    ("program", lambda case: case["program"]),
    ("setting", lambda case: setting_cell(case)),
    ("data (simulated)", lambda case: data_cell(case["data"])),
    ("threads", lambda case: str(case["threads"])),
    ("runs", lambda case: runs_cell(case)),
    ("seconds, median", lambda case: seconds_cell(case)),
    ("min–max, s", lambda case: spread(case.get("seconds"))),
    ("s/iteration", lambda case: number(case.get("per_iteration"))),
    ("min–max, s/iteration", lambda case: spread(case.get("per_iteration"))),
    ("YᵀY, s", lambda case: number(inside(case, "gram", "seconds"))),
    ("first call, s", lambda case: first_call_cell(case)),
    ("peak over imports, MiB", lambda case: whole(case.get("peak_over_imports_mib"))),
    ("input, MiB", lambda case: number(case.get("input_mib"))),
    ("objective", lambda case: objective_cell(case)),
    ("tree", lambda case: number(inside(case, "tree", "pearson"), 4)),
    ("tips", lambda case: number(inside(case, "tree", "n_tips"))),
    ("solver", lambda case: str(inside(case, "fitted", "solver_") or "")),
    ("iterations", lambda case: iterations_cell(case)),
    ("proven gap", lambda case: number(inside(case, "fitted", "optimality_gap_"))),
    ("relative", lambda case: number(inside(case, "certificate", "relative"))),
)


def case_table(cases: list[Record]) -> str:
    """One row per case; columns that say nothing are left out."""
    columns = [(heading, [cell(case) for case in cases]) for heading, cell in COLUMNS]
    columns = [column for column in columns if any(column[1])]
    return table(
        [heading for heading, _ in columns], list(zip(*(c for _, c in columns), strict=True))
    )


def accuracy_table(cases: list[Record]) -> str:
    """Paths for large data against the exact one."""
    body = []
    for case in cases:
        if case["status"] != "ok":
            body.append([case["name"], "", failure(case), "", "", ""])
            continue
        run = case["runs"][0]
        for solver in ("sparse", "sketch"):
            found = run[solver]
            body.append(
                [
                    case["name"],
                    solver,
                    f"{found['objective']:.7g}",
                    f"{run['exact']['objective']:.7g}",
                    f"{found['difference']:.3%}",
                    f"{found['procrustes']:.6f}",
                ]
            )
    heads = [
        "data (simulated)",
        "path",
        "objective",
        "exact",
        "difference",
        "Procrustes correlation",
    ]
    return table(heads, body)


def profile_table(case: Record) -> str:
    """Where the time of a fit goes."""
    run = case["runs"][0]
    body = [
        [f"`{row['function']}`", str(row["calls"]), f"{row['own'] / run['seconds']:.1%}"]
        for row in run["top"]
    ]
    text = (
        f"Profile of the fit to {case['data']['n']:,} rows ({number(run['seconds'])} s under the "
        "profiler, with one thread, since it sees no other): own time of functions; compiled "
        "loops count for their callers.\n\n"
    )
    return text + table(["function", "calls", "share"], body)


def inside(case: Record, *keys: str) -> Any:
    """A value in the first run of a case, or None."""
    value: Any = case["runs"][0] if case["status"] == "ok" else None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def setting_cell(case: Record) -> str:
    """What the name of a case says beyond its program and its data."""
    name = re.sub(r"\bN=\d+", "", case["name"])
    for known in (case["program"], *case["program"].split("."), case["data"]["name"]):
        name = name.replace(known, "", 1)
    return name.strip(" ,")


def data_cell(data: dict[str, Any]) -> str:
    """What the data are, in a few words."""
    precision = ", float32" if data.get("dtype") == "float32" else ""
    return f"{data['name']}, {data['n']:,} × {data['n_features']}{precision}"


def runs_cell(case: Record) -> str:
    """Processes, and single fits within them."""
    if case["status"] != "ok":
        return ""
    fits = case.get("seconds", {}).get("fits", 0)
    return f"{case['repeats']}" + (f" ({fits} fits)" if fits > case["repeats"] else "")


def seconds_cell(case: Record) -> str:
    """Seconds, or why there are none."""
    if case["status"] != "ok":
        return failure(case)
    if inside(case, "reached") is False:
        return f"not reached in {number(case['seconds'])}"
    return number(case.get("seconds"))


def failure(case: Record) -> str:
    """What happened to a case that has no time."""
    if case["status"] == "timeout":
        return f"more than {case['timeout']:.0f}"
    return f"{case['status']}: {case['message']}"


def first_call_cell(case: Record) -> str:
    """The first fit with nothing compiled, where that is what was measured."""
    return number(case.get("first_call")) if case["mode"] == "first-call" else ""


def objective_cell(case: Record) -> str:
    """The objective by one formula, or the one reached."""
    value = inside(case, "objective")
    value = value["value"] if isinstance(value, dict) else value
    return "" if value is None else f"{value:.9g}"


def iterations_cell(case: Record) -> str:
    """Iterations of a fit that was free to stop, or steps of Algorithm 1."""
    value = inside(case, "steps")
    if value is None and case["params"].get("tol") != 0:
        value = inside(case, "fitted", "n_iter_")
    return "" if value is None else f"{value:,}"


def number(value: Any, digits: int = 3) -> str:
    """Three significant digits of a number or of a median."""
    if isinstance(value, dict):
        value = value.get("median")
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def whole(value: float | None) -> str:
    """A whole number."""
    return "" if value is None else f"{value:,.0f}"


def spread(value: dict[str, float] | None) -> str:
    """Smallest and largest, if there was more than one."""
    if not value or value["min"] == value["max"]:
        return ""
    return f"{number(value['min'])}–{number(value['max'])}"


def table(headings: list[str], rows: list[Any]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def panels(results: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Titles and lines of the picture's panels, without the empty ones."""
    found = [
        ("DDRTree, one centre per point\n20 iterations", one_centre_lines(results)),
        ("DDRTree, 1,000 centres\n20 iterations, single precision", million_lines(results)),
        ("SPL\nneighbour search apart", spl_lines(results)),
    ]
    return [(title, lines) for title, lines in found if lines]


def draw(results: dict[str, Any], path: Path) -> None:
    """Time against size, both logarithmic."""
    drawn = panels(results)
    if not drawn:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, axes = plt.subplots(
        1, len(drawn), figsize=(4.2 * len(drawn), 4), squeeze=False, layout="constrained"
    )
    for ax, (title, lines) in zip(axes[0], drawn, strict=True):
        for label, (points, style) in lines.items():
            ax.plot(*zip(*points, strict=True), style, label=label, markersize=5)
        guide(ax, [point for points, _ in lines.values() for point in points])
        ax.set(xscale="log", yscale="log", xlabel="samples", title=title)
        ax.title.set_fontsize(10)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_formatter(NullFormatter())
        ax.set(xlim=decades(ax.get_xlim()), ylim=decades(ax.get_ylim()))
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, fontsize=8)
    axes[0, 0].set_ylabel("seconds")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def decades(limits: tuple[float, float]) -> tuple[float, float]:
    """Limits widened so that at least two powers of ten are on the axis."""
    low, high = (math.log10(limit) for limit in limits)
    if math.floor(high) - math.ceil(low) < 1:
        low, high = math.floor(low), math.ceil(high)
    return 10.0**low, 10.0**high


def guide(ax: Any, points: list[tuple[float, float]]) -> None:
    """A dotted line of slope one through the lower left corner of the points."""
    sizes = [size for size, _ in points]
    low, high = min(sizes), max(sizes)
    start = min(seconds / size for size, seconds in points) * low
    ax.plot([low, high], [start, start * high / low], ":", color="0.5", linewidth=1)


def curve(records: list[Record], style: str) -> tuple[list[tuple[float, float]], str]:
    """Points (n, seconds) and how to draw them."""
    return [(record["data"]["n"], record["seconds"]["median"]) for record in records], style


def one_centre_lines(results: dict[str, Any]) -> dict[str, Any]:
    """Both implementations of DDRTree with K = N."""
    records = finished(results, "ddrtree-k-equals-n")
    lines = {
        "ddrtree-python, σ = 1e-3": curve(
            [r for r in records if r["program"] == "ddrtree-python"], "s-C1"
        ),
        "branchwise, σ = 1e-3": curve(
            [r for r in records if r["program"] == "branchwise.DDRTree"], "o-C0"
        ),
        'branchwise, σ = "auto"': curve(finished(results, "ddrtree-growth"), "o--C9"),
    }
    return {label: line for label, line in lines.items() if line[0]}


def million_lines(results: dict[str, Any]) -> dict[str, Any]:
    """DDRTree with few centres, and umap-learn."""
    umap = [r for r in finished(results, "umap") if r["program"] == "umap-learn"]
    lines = {
        "umap-learn": curve(umap, "s-C1"),
        "branchwise": curve(finished(results, "ddrtree-million"), "o-C0"),
    }
    return {label: line for label, line in lines.items() if line[0]}


def spl_lines(results: dict[str, Any]) -> dict[str, Any]:
    """SPL on its two kinds of data."""
    records = finished(results, "spl-growth")
    lines = {
        "surface": curve([r for r in records if r["data"]["name"] == "surface"], "o-C0"),
        "10-dimensional": curve([r for r in records if r["data"]["name"] == "intrinsic10"], "o-C2"),
    }
    return {label: line for label, line in lines.items() if line[0]}


if __name__ == "__main__":
    main(*sys.argv[1:])
