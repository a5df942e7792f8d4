"""Trees found in simulated data, side by side with other programs, against the true tree.

Every method, with every one of its settings, places the points of the same trees; the scores
compare the places with the true ones. Writes results/trajectories.json and trajectories.md.

    python benchmarks/trajectories.py [--quick] [--only METHOD ...] [--render]

A worker process runs all cases of one setting on one thread. Should it end before its time, the
case it was at has failed, and another one takes the rest.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from branchwise.datasets import make_tree
from branchwise.graph.placement import Placement, degrees
from branchwise.metrics import f1_branches, f1_milestones, him, isomorphic, tree_correlation
from branchwise.trajectory import learn_trajectory
from rivals import RIVALS, Fit
from run import THREAD_VARIABLES, machine, n_cores, say, without_paths

HERE = Path(__file__).resolve().parent
TOPOLOGIES = ("linear", "bifurcation", "trifurcation", "binary", "complex")
# Branches are 0.7 to 1.3 long, and turn by that angle.
CURVATURE = 1.0
# Standard deviation of the noise in each feature.
NOISES = {"low": 0.05, "middle": 0.1, "high": 0.15}
SEEDS = range(5)
N_SAMPLES, N_FEATURES = 2000, 50
# A fit that takes longer has failed.
MOST_SECONDS = 600

OURS = "branchwise"
PROGRAMS = (OURS, "simpleppt", "elpigraph-python", "scanpy")
SCORES = {
    "correlation": tree_correlation,
    "F1 of branches": f1_branches,
    "HIM": him,
    "F1 of milestones": f1_milestones,
    "isomorphic": isomorphic,
}
# What the methods are ranked by, and how little less still counts as a tie.
RANKED = ("correlation", "F1 of branches", "HIM")
TIE = 0.005

Run = dict[str, Any]


def ours(X: np.ndarray, random_state: int) -> Placement:
    """The preset, with nothing but the seed."""
    return learn_trajectory(X, random_state=random_state).placement_


METHODS: dict[str, dict[str, Fit]] = {OURS: {"learn_trajectory": ours}, **RIVALS}


def cases(*, quick: bool) -> list[Run]:
    """The data sets, each told by what it is generated from."""
    if quick:
        return [
            {"topology": topology, "noise": "middle", "seed": 0, "n_samples": 300}
            for topology in TOPOLOGIES[:3]
        ]
    return [
        {"topology": topology, "noise": noise, "seed": seed, "n_samples": N_SAMPLES}
        for topology, noise, seed in product(TOPOLOGIES, NOISES, SEEDS)
    ]


def simulate(case: Run) -> tuple[np.ndarray, Placement]:
    """Points, and their true places."""
    data = make_tree(
        case["n_samples"],
        topology=case["topology"],
        n_features=N_FEATURES,
        curvature=CURVATURE,
        noise=NOISES[case["noise"]],
        random_state=case["seed"],
    )
    return data.X, data.truth


def n_tips(placement: Placement) -> int:
    """Number of nodes with a single edge."""
    return int((degrees(placement.edges, placement.n_nodes) == 1).sum())


def run_case(fit: Fit, case: Run) -> Run:
    """Scores of one fit, or the message that it ended with."""
    X, true = simulate(case)
    record = {"true tips": n_tips(true)}
    start = time.perf_counter()
    try:
        found = fit(X, case["seed"])
    except Exception as error:  # whatever a rival raises is its result
        return {**record, "failed": without_paths(f"{type(error).__name__}: {error}")}
    record |= {"seconds": round(time.perf_counter() - start, 3), "tips": n_tips(found)}
    return record | {name: round(float(score(true, found)), 4) for name, score in SCORES.items()}


def work(job_path: str) -> None:
    """Run the cases of a job in this process, and write each result as a line."""
    warnings.simplefilter("ignore")
    job = json.loads(Path(job_path).read_text("utf-8"))
    fit = METHODS[job["method"]][job["setting"]]
    # Code that is compiled on first use is compiled here.
    run_case(fit, {**job["cases"][0], "n_samples": 300})
    with Path(job["results"]).open("a", encoding="utf-8") as results:
        for case in job["cases"]:
            signal.alarm(MOST_SECONDS)
            results.write(json.dumps(run_case(fit, case)) + "\n")
            results.flush()
            signal.alarm(0)


def run_setting(method: str, setting: str, todo: list[Run]) -> list[Run]:
    """All cases of a setting; a worker that ends before its time costs the case it was at."""
    start = time.perf_counter()
    told = {"method": method, "setting": setting}
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    records: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="branchwise-bench-") as folder:
        job, results = Path(folder) / "job.json", Path(folder) / "results"
        while len(records) < len(todo):
            results.write_text("", "utf-8")
            rest = {"cases": todo[len(records) :], "results": str(results)}
            job.write_text(json.dumps({**told, **rest}), "utf-8")
            process = subprocess.run(
                [sys.executable, str(HERE / "trajectories.py"), "--work", str(job)],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            records += map(json.loads, results.read_text("utf-8").splitlines())
            if len(records) < len(todo):
                records.append({"failed": without_paths(how_it_ended(process))})
    n_failed = sum("failed" in record for record in records)
    seconds = time.perf_counter() - start
    say(f"   {method}, {setting}: {seconds:.0f} s, {n_failed} of {len(records)} failed")
    return [{**told, **case, **record} for case, record in zip(todo, records, strict=True)]


def how_it_ended(process: subprocess.CompletedProcess[str]) -> str:
    """The last words of a worker."""
    if process.returncode < 0:
        return f"ended by signal {signal.Signals(-process.returncode).name}"
    return (process.stderr.strip().splitlines() or ["no message"])[-1]


def value(run: Run, score: str) -> float:
    """A score of a run; nothing is worse than a run that failed."""
    return float(run.get(score, 0.0))


def medians(runs: list[Run], scores: tuple[str, ...] = RANKED) -> list[float]:
    """Median of each score over the runs."""
    return [float(np.median([value(run, score) for run in runs])) for score in scores]


def is_right(run: Run) -> bool:
    """Whether the number of tips is the true one."""
    return "tips" in run and run["tips"] == run["true tips"]


def by_setting(runs: list[Run]) -> dict[tuple[str, str], list[Run]]:
    """The runs of each method and setting, in the order in which they were run."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run["method"], run["setting"]), []).append(run)
    return groups


def best_settings(runs: list[Run]) -> dict[str, list[Run]]:
    """The runs of each method with the setting that is best for it: by the sum of its medians.

    Nobody can choose so without the truth; the rivals are given it.
    """
    best: dict[str, list[Run]] = {}
    for (method, _), group in by_setting(runs).items():
        if method not in best or sum(medians(group)) > sum(medians(best[method])):
            best[method] = group
    return best


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def overview(groups: dict[str, list[Run]]) -> list[str]:
    """A row for each: all scores, tips, failures and time."""
    header = ["method", *RANKED, "F1 of milestones", "same shape", "right number of tips"]
    seconds = {
        label: np.median([run["seconds"] for run in runs if "seconds" in run] or [np.nan])
        for label, runs in groups.items()
    }
    first = next(iter(seconds.values()))
    rows = []
    for label, runs in groups.items():
        scores = medians(runs, (*RANKED, "F1 of milestones"))
        n_isomorphic = int(sum(value(run, "isomorphic") for run in runs))
        counts = [n_isomorphic, sum(map(is_right, runs))]
        n_failed = sum("failed" in run for run in runs)
        rows.append(
            [label]
            + [f"{score:.3f}" for score in scores]
            + [f"{count} of {len(runs)}" for count in counts]
            + [str(n_failed), f"{seconds[label]:.2f} s", f"{seconds[label] / first:.1f}"]
        )
    return table([*header, "failed", "time", "ratio"], rows)


def breakdown(groups: dict[str, list[Run]], key: str, values: list[str]) -> list[str]:
    """Medians of the three scores, and tips, for each value of a key."""
    rows = []
    for chosen in values:
        for label, runs in groups.items():
            part = [run for run in runs if run[key] == chosen]
            scores = [f"{score:.3f}" for score in medians(part)]
            rows.append([chosen, label, *scores, f"{sum(map(is_right, part))} of {len(part)}"])
    return table([key, "method", *RANKED, "right number of tips"], rows)


def verdicts(groups: dict[str, list[Run]]) -> list[str]:
    """Whether ours is best or tied, has the right tips in most runs, and never failed."""
    ranks = {label: medians(runs) for label, runs in groups.items()}
    right = {label: sum(map(is_right, runs)) for label, runs in groups.items()}
    failed = {label: sum("failed" in run for run in runs) for label, runs in groups.items()}
    others = [label for label in groups if label != OURS]
    rows = []
    for k, score in enumerate(RANKED):
        best = max(others, key=lambda label: ranks[label][k])
        mine, theirs = ranks[OURS][k], ranks[best][k]
        rows.append([f"median of {score}", f"{mine:.3f}", f"{theirs:.3f} ({best})"])
        rows[-1].append("best or tied: " + ("yes" if mine >= theirs - TIE else "no"))
    best = max(others, key=lambda label: right[label])
    rows.append(["runs with the right number of tips", str(right[OURS]), f"{right[best]} ({best})"])
    rows[-1].append("most: " + ("yes" if 2 * right[OURS] > len(groups[OURS]) else "no"))
    best = min(others, key=lambda label: failed[label])
    rows.append(["runs that failed", str(failed[OURS]), f"{failed[best]} ({best})"])
    rows[-1].append("none: " + ("no" if failed[OURS] else "yes"))
    return table(["", OURS, "best of the others", "reached"], rows)


def render(document: dict[str, Any]) -> str:
    """The page, from the results alone."""
    runs, data = document["runs"], document["data"]
    groups, best = by_setting(runs), best_settings(runs)
    rivals = {f"{key[0]}, {key[1]}": group for key, group in groups.items() if key[0] != OURS}
    topologies = list(dict.fromkeys(run["topology"] for run in runs))
    noises = list(dict.fromkeys(run["noise"] for run in runs))
    n_seeds = len({run["seed"] for run in runs})
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    sds = ", ".join(f"{name} {data['noise'][name]:g}" for name in noises)
    computer = document["machine"]
    lines = [
        "# Trees found, against the true ones",
        "",
        "Generated by `python benchmarks/trajectories.py` from `results/trajectories.json`, "
        f"{document['date']}, on {computer['cores']} cores of {computer['cpu']}, each fit on "
        f"one thread. {versions}.",
        "",
        f"**All data are simulated**: {len(topologies)} topologies × {len(noises)} levels of noise "
        f"× {n_seeds} seeds of `branchwise.datasets.make_tree`, {data['n_samples']:,} samples, "
        f"{data['n_features']} features. Standard deviation of the noise in each feature: {sds}.",
        "",
        "No method is told the truth, not even the number of branches. branchwise has one setting "
        "for all runs, that of `branchwise.trajectory.learn_trajectory`, which was found on trees "
        "of the same generator with other seeds (100 to 103). The others have several, which "
        "`rivals.py` explains, and each is shown with the one that is best for it over all runs, "
        "which nobody can know without the truth. A run that failed counts as zero in every "
        "median.",
        "",
        *overview({f"{name} ({group[0]['setting']})": group for name, group in best.items()}),
        "",
        "Same shape: the trees without their nodes of degree two are isomorphic. Time is the "
        "median of a fit, with compiling left out; ratio is to the first row.",
        "",
        "Row by row, the best of the others is that of any program with any of its settings. A "
        f"difference of at most {TIE} counts as a tie.",
        "",
        *(verdicts(rivals | {OURS: best[OURS]}) if rivals and OURS in best else []),
        "",
        "## By topology",
        "",
        *breakdown(best, "topology", topologies),
        "",
        "## By noise",
        "",
        *breakdown(best, "noise", noises),
        "",
        "## All settings",
        "",
        *overview({f"{method} ({setting})": group for (method, setting), group in groups.items()}),
        "",
    ]
    failed = [run for run in runs if "failed" in run]
    if failed:
        rows = [
            [
                *(str(run[key]) for key in ("method", "setting", "topology", "noise", "seed")),
                run["failed"].replace("|", "\\|"),
            ]
            for run in failed
        ]
        header = ["method", "setting", "topology", "noise", "seed", "message"]
        lines += ["## Failures", "", *table(header, rows), ""]
    return "\n".join(lines)


def dumps(document: dict[str, Any]) -> str:
    """JSON with a line for each run."""
    head = json.dumps({**document, "runs": None}, indent=1, ensure_ascii=False)
    runs = ",\n".join("  " + json.dumps(run, ensure_ascii=False) for run in document["runs"])
    return head.replace('"runs": null', f'"runs": [\n{runs}\n ]') + "\n"


def measure(path: Path, chosen: list[str], *, quick: bool) -> None:
    """Run the chosen methods, and write the results after each setting; others' are kept."""
    todo = cases(quick=quick)
    document = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": {name: version(name) for name in PROGRAMS},
        "data": {
            "simulated": True,
            "n_samples": todo[0]["n_samples"],
            "n_features": N_FEATURES,
            "noise": NOISES,
        },
    }
    known = by_setting(json.loads(path.read_text("utf-8"))["runs"]) if path.exists() else {}
    found = {key: runs for key, runs in known.items() if key[0] not in chosen}
    settings = [(method, setting) for method in METHODS for setting in METHODS[method]]
    start = time.perf_counter()
    with ThreadPoolExecutor(n_cores()) as pool:
        futures = {
            pool.submit(run_setting, *key, todo): key for key in settings if key[0] in chosen
        }
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            runs = [run for key in settings if key in found for run in found[key]]
            path.write_text(dumps({**document, "runs": runs}), "utf-8")
    say(f"finished after {(time.perf_counter() - start) / 60:.1f} minutes")


def main() -> None:
    """Run the methods, all or some, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few small cases, kept apart")
    parser.add_argument("--only", nargs="+", choices=list(METHODS), help="keep others' results")
    parser.add_argument("--render", action="store_true", help="only render the results present")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work)
        return
    folder = HERE / ("results-quick" if arguments.quick else "results")
    folder.mkdir(exist_ok=True)
    path = folder / "trajectories.json"
    if not arguments.render:
        measure(path, arguments.only or list(METHODS), quick=arguments.quick)
    page = (folder if arguments.quick else HERE) / "trajectories.md"
    page.write_text(render(json.loads(path.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
