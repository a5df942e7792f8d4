"""The page of `answers.py`, from its results alone: no number on it is typed by hand."""

from typing import Any

import numpy as np

OURS = "branchwise"
# What is to be reached with one default: at least, or where less is better, at most.
TARGETS = {"rho": 0.80, "F1": 0.78, "dtips": 0.4, "eff": 50.0, "seed": 0.98, "sub80": 0.93}
TARGETS |= {"forks": 0.1}
LESS = ("dtips", "forks", "seconds")
TITLES = {
    "rho": "ρ",
    "F1": "F1",
    "ARI": "ARI",
    "right": "right tips",
    "dtips": "mean \\|Δtips\\|",
    "eff": "eff",
    "seed": "seed",
    "sub80": "sub80",
    "forks": "nulls with a fork",
    "seconds": "seconds",
}
# The lines of the README that its table stands between.
BEGIN, END = "<!-- begin answers -->", "<!-- end answers -->"
DIGITS = {"eff": 0, "seconds": 1, "tips": 0}

Run = dict[str, Any]
# What the page calls a method, and how it was run, by its name.
Programs = dict[str, tuple[str, str]]


def number(value: float, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def mean(values: list[float]) -> float:
    """Mean of the values that are there; NaN of none."""
    kept = [value for value in values if np.isfinite(value)]
    return float(np.mean(kept)) if kept else np.nan


# From runs to figures


def value(run: Run, name: str) -> float:
    """A figure of a fit to a whole set; a fit that failed has no order, no branches and no tips."""
    if "failed" in run:
        return np.nan if name in ("eff", "seconds") else 0.0
    found = run.get(name)
    return np.nan if found is None else float(found)


def of_set(runs: list[Run], known: Run) -> dict[str, float]:
    """Figures of a method on one set: medians over the seeds."""
    whole = [run for run in runs if "seed" in run and "skipped" not in run]
    parts = [run for run in runs if "part" in run and "skipped" not in run]
    names = ("rho", "F1", "ARI", "tips", "eff")
    found = {name: float(np.median([value(run, name) for run in whole])) for name in names}
    found["seconds"] = value(whole[0], "seconds")
    differs = [abs(value(run, "tips") - known["tips"]) for run in whole]
    found["dtips"] = float(np.median(differs)) if known["tips"] else np.nan
    pairs = [0.0 if "failed" in run else run["agreement"] for run in whole if run["seed"] > 0]
    found["seed"] = mean(list(np.hstack(pairs))) if pairs else np.nan
    found["sub80"] = mean([value(run, "sub80") for run in parts])
    return found


def by_set(found: Run, sets: list[Run]) -> dict[str, dict[str, float]]:
    """Figures of a method on every set."""
    return {
        known["name"]: of_set(
            [run for run in found["runs"] if run.get("set") == known["name"]], known
        )
        for known in sets
    }


def overall(figures: list[dict[str, float]]) -> dict[str, float]:
    """Means over sets; of tips, the number of sets that have them right, and of how many."""
    names = ("rho", "F1", "ARI", "dtips", "eff", "seed", "sub80", "seconds")
    found = {name: mean([figure[name] for figure in figures]) for name in names}
    differs = [figure["dtips"] for figure in figures if np.isfinite(figure["dtips"])]
    return {**found, "right": float(np.sum(np.equal(differs, 0))), "known": float(len(differs))}


def forks(runs: list[Run]) -> tuple[int, int]:
    """Tables without a tree in which a fork was found, and how many there are."""
    drawn = [run for run in runs if "null" in run]
    return sum(run.get("tips", 0) > 2 for run in drawn), len(drawn)


def summary(found: Run, sets: list[Run]) -> dict[str, float]:
    """All figures of a method, over some sets and all nulls."""
    n_forks, n_nulls = forks(found["runs"])
    figures = overall(list(by_set(found, sets).values()))
    return {**figures, "forks": n_forks / n_nulls if n_nulls else np.nan}


# Tables


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table, and an empty one."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def overview(document: Run, programs: Programs, sets: list[Run], names: list[str]) -> list[str]:
    """A row for each method, a column for each figure."""
    rows = []
    for method, (title, _) in programs.items():
        if method not in document["methods"]:
            continue
        found = document["methods"][method]
        figures = summary(found, sets)
        n_forks, n_nulls = forks(found["runs"])
        shown = {name: number(figures[name], DIGITS.get(name, 2)) for name in names}
        shown["right"] = f"{figures['right']:.0f} of {figures['known']:.0f}"
        if "forks" in shown:
            shown["forks"] = f"{n_forks} of {n_nulls}"
        rows.append([f"**{title}**" if method == OURS else title, *shown.values()])
    return table(["method", *(TITLES[name] for name in names)], rows)


def in_readme(text: str, document: Run, programs: Programs) -> str:
    """The README with the figures that matter most, between its two markers."""
    before, rest = text.split(BEGIN, 1)
    names = ["rho", "F1", "right", "eff", "sub80", "forks", "seconds"]
    lines = overview(document, programs, document["sets"], names)
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n{END}{rest.split(END, 1)[1]}"


def set_by_set(document: Run, programs: Programs, name: str) -> list[str]:
    """A row for each set, a column for each method; the best of a row is bold."""
    methods = [method for method in programs if method in document["methods"]]
    figures = {m: by_set(document["methods"][m], document["sets"]) for m in methods}
    rows = []
    for known in document["sets"]:
        found = [figures[method][known["name"]][name] for method in methods]
        good = -np.abs(np.subtract(found, known["tips"])) if name == "tips" else np.array(found)
        unknown = name == "tips" and not known["tips"]
        is_best = np.zeros(len(found), dtype=bool) if unknown else np.round(good, 2) == best(good)
        cells = [number(value, DIGITS.get(name, 2)) for value in found]
        cells = [f"**{c}**" if b else c for c, b in zip(cells, is_best, strict=True)]
        true = [str(known["tips"] or "?")] if name == "tips" else []
        rows.append([known["name"], *true, *cells])
    true = ["true"] if name == "tips" else []
    return table(["set", *true, *(programs[method][0] for method in methods)], rows)


def best(values: np.ndarray) -> float:
    """The largest, as it is printed."""
    return float(np.round(np.nanmax(values), 2)) if np.isfinite(values).any() else np.nan


def kinds_of_nulls(document: Run, programs: Programs) -> list[str]:
    """The numbers of tips that each method found in each kind of table without a tree."""
    methods = [method for method in programs if method in document["methods"]]
    runs = [run for m in methods for run in document["methods"][m]["runs"] if "null" in run]
    rows = []
    for kind in dict.fromkeys(run["null"] for run in runs):
        drawn = [
            [run for run in document["methods"][m]["runs"] if run.get("null") == kind]
            for m in methods
        ]
        rows.append([kind, *(spread([run.get("tips") for run in some]) for some in drawn)])
    return table(["no tree in it", *(programs[method][0] for method in methods)], rows)


def spread(tips: list[int | None]) -> str:
    """The least and the largest number of tips."""
    found = [n for n in tips if n is not None]
    if not found:
        return "failed"
    return str(min(found)) if min(found) == max(found) else f"{min(found)}–{max(found)}"


# What was reached


def reached(document: Run, programs: Programs) -> list[str]:
    """Each target beside ours and the best of the others, and a sentence on what was missed."""
    others = [method for method in programs if method != OURS and method in document["methods"]]
    if OURS not in document["methods"] or not others:
        return []
    figures = {m: summary(document["methods"][m], document["sets"]) for m in [OURS, *others]}
    rows, missed = [], []
    for name, target in TARGETS.items():
        sign, digits = -1 if name in LESS else 1, DIGITS.get(name, 2)
        mine = figures[OURS][name]
        # A method that has no such figure is behind all others.
        points = {
            m: np.nan_to_num(round(sign * figures[m][name], digits), nan=-np.inf) for m in others
        }
        rival = max(others, key=points.__getitem__)
        theirs, title = figures[rival][name], programs[rival][0]
        hit, ahead = sign * mine >= sign * target, round(sign * mine, digits) >= points[rival]
        words = "at most" if sign < 0 else "at least"
        shown = [number(figure, digits) for figure in (target, mine, theirs)]
        rows.append([TITLES[name], f"{words} {shown[0]}", shown[1], yes(hit)])
        rows[-1] += [f"{shown[2]} ({title})", yes(ahead)]
        if not hit:
            missed.append(f"{TITLES[name]} is {shown[1]} where {words} {shown[0]} was asked for")
        if not ahead:
            missed.append(f"{TITLES[name]} of {title} is better, {shown[2]}")
    header = ["", "target", OURS, "reached", "best of the others", "as good or better"]
    sentence = f"Missed: {'; '.join(missed)}." if missed else "Every target was reached."
    heading = ["## What was reached", ""]
    return [*heading, *table(header, rows), sentence, "", *lost(document, programs)]


def yes(is_so: bool) -> str:
    """A word for a truth."""
    return "yes" if is_so else "**no**"


def lost(document: Run, programs: Programs) -> list[str]:
    """A sentence on the sets on which another method is better by more than 0.05 in the order."""
    methods = [method for method in programs if method in document["methods"]]
    figures = {m: by_set(document["methods"][m], document["sets"]) for m in methods}
    lines = []
    for name in ("rho", "F1"):
        behind = []
        for known in document["sets"]:
            found = {m: figures[m][known["name"]][name] for m in methods}
            rival = max(found, key=lambda method, f=found: f[method])
            if found[rival] > found[OURS] + 0.05:
                pair = f"{number(found[OURS])} against {number(found[rival])}"
                behind.append(f"{known['name']} ({pair} of {programs[rival][0]})")
        if behind:
            lines += [f"By more than 0.05 in {TITLES[name]}, it loses on {', '.join(behind)}.", ""]
    return lines


def not_run(document: Run, programs: Programs) -> list[str]:
    """Fits that failed or were left out, with the reason."""
    rows = []
    for method, (title, _) in programs.items():
        for run in document["methods"].get(method, {"runs": []})["runs"]:
            reason = run.get("failed") or run.get("skipped")
            if reason:
                what = run.get("set") or f"{run['null']}, draw {run['draw']}"
                which = f"seed {run['seed']}" if "seed" in run else ""
                which = f"80 %, number {run['part']}" if "part" in run else which
                word = "failed" if "failed" in run else "left out"
                rows.append([title, what, which, word, reason.replace("|", "\\|")[:150]])
    header = ["method", "set", "", "", "reason"]
    return ["## Fits that failed or were left out", "", *table(header, rows)] if rows else []


# The page


def render(document: Run, programs: Programs, choice: list[Run]) -> str:
    """The page; `choice` is what the table of results/choice.json says."""
    sets = document["sets"]
    names = list(TITLES)
    some = [name for name in names if name != "forks"]
    real = [known for known in sets if known["real"]]
    simulated = [known for known in sets if not known["real"]]
    lines = [
        "# What one gets without setting anything",
        "",
        *intro(document, programs),
        *overview(document, programs, sets, names),
        *LEGEND,
        *reached(document, programs),
        "## Real and simulated sets apart",
        "",
        f"Real ({len(real)}):",
        "",
        *overview(document, programs, real, some),
        f"Simulated ({len(simulated)}):",
        "",
        *overview(document, programs, simulated, some),
        "## Set by set",
        "",
    ]
    for name, title in {"rho": "ρ", "F1": "F1", "tips": "Tips", "eff": "Evenness"}.items():
        lines += [
            f"{title} (the best of a row is bold):",
            "",
            *set_by_set(document, programs, name),
        ]
    lines += ["## Tables without a tree: tips found", "", *kinds_of_nulls(document, programs)]
    lines += told_by_hand(choice)
    lines += ["## How each method was run", ""]
    lines += [f"- **{title}**: {' '.join(how.split())}" for title, how in programs.values()]
    lines += ["", "## The sets", "", *sources(sets), *not_run(document, programs)]
    return "\n".join(lines).rstrip() + "\n"


def told_by_hand(choice: list[Run]) -> list[str]:
    """Paragraphs, each a `text` and `rows` of a table; a `section` where another one begins."""
    lines, section = [], ""
    for part in choice:
        heading = part.get("section", section or "How the constants were chosen")
        if heading != section:
            lines += [f"## {heading}", ""]
        section = heading
        lines += [part["text"], ""]
        if part.get("rows"):
            rows = [[str(cell) for cell in row.values()] for row in part["rows"]]
            lines += table(list(part["rows"][0]), rows)
    return lines


def intro(document: Run, programs: Programs) -> list[str]:
    """What was run, where and when."""
    computer, methods = document["machine"], document["methods"]
    versions = ", ".join(
        f"{programs[method][0]} {methods[method]['version']} ({methods[method]['date']})"
        for method in programs
        if method in methods
    )
    return [
        "Generated by `make bench-answers` from `results/answers.json`, on "
        f"{computer['cpu']}, each fit on one thread: {versions}.",
        "",
        f"{len(document['sets'])} sets with a known truth and tables without any, the same for "
        "every method. Each has one setting for all of them and is told nothing but the samples "
        "that time starts at. Methods that learn a tree get the root that puts these samples "
        "first; the others are told a cell or a cluster.",
        "",
    ]


LEGEND = [
    "Medians over seeds, means over sets. ρ: rank correlation of pseudotime with the known time or"
    " stage, along each lineage. F1, ARI: branches found against true branches, or fates where "
    "only these are known; a branch lies between forks and tips, and a root inside does not split "
    "it. Right tips: sets with the true number of tips, of those where it is known. eff: evenness "
    "of the samples along the tree, 100 if they are even. seed: rank correlation of pseudotime "
    "between three seeds (branchwise has none: three orders of the rows). sub80: the same with "
    "fits to 80 % of the rows, two of them. Nulls: tables in which nothing branches. seconds: of "
    "one processor for the first fit to a set, compiling left out. A fit that failed counts as 0. "
    "A dash: the method has no such thing.",
    "",
]


def sources(sets: list[Run]) -> list[str]:
    """What the sets are, and where they come from."""
    rows = [
        [
            known["name"],
            f"{known['samples']:,} × {known['features']:,}",
            "real" if known["real"] else "simulated",
            str(known["tips"] or "not known"),
            known["source"].replace("|", "\\|").replace("\n", " "),
        ]
        for known in sets
    ]
    text = (
        "They lie in the folder that the environment variable `BRANCHWISE_DATA` names and are not "
        "part of the project; `make_tree` is its own simulator, one of several."
    )
    return [text, "", *table(["set", "size", "", "tips", "what it is"], rows)]
