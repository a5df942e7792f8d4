"""What a user gets without setting anything, beside other programs: sets with a known truth, nulls.

    BRANCHWISE_DATA=FOLDER python benchmarks/answers.py [--quick] [--only METHOD ...] [--render]

Writes results/answers.json and answers.md. Results of methods that are not run again are kept. A
worker process runs all cases of one method on one thread. Should it end before its time, the case
it was at has failed, and another one takes the rest.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Any

import numpy as np

from answers_page import OURS, in_readme, render
from branchwise.trajectory import learn_trajectory
from rivals import RIVALS, Method, Program, components, on_tree, silence
from run import THREAD_VARIABLES, machine, n_cores, say, without_paths
from yardstick import SIMULATED, Answer, Set, load_sets, nulls, rank_correlation, score, simulated

HERE = Path(__file__).resolve().parent
# Environments of programs that cannot live with the others.
ENVIRONMENTS = {"slingshot": HERE.parent / ".venv-slingshot"}
# A fit that takes longer has failed.
MOST_SECONDS = 600
# Where the first fit takes longer, the set is not fitted again with other seeds or fewer rows.
ENOUGH_SECONDS = 120
# Of the samples of a null, this part at one end of the first component is told as the root.
ROOT_PART = 0.05

Run = dict[str, Any]


def ours(X: np.ndarray, is_root: np.ndarray, seed: int, **options: int) -> Answer:
    """`learn_trajectory(X)`, then `rooted(labels=…, value=…, at="auto")`.

    Nothing of it is random: in the place of another seed it gets the rows in another order. The
    resamples that say how sure it is, which change nothing of the answer, are drawn in the first
    fit to each set alone, which is the one that time is taken of.
    """
    order = np.random.default_rng(seed).permutation(len(X)) if seed else np.arange(len(X))
    found = learn_trajectory(X[order], **options)
    found = found.rooted(labels=is_root[order], value=True, at="auto")
    back, at = np.argsort(order), found.placement_
    at = at._replace(edge=at.edge[back], position=at.position[back])
    # Not `branches_`, which a root inside a branch splits: that would be more than others get.
    return on_tree(found.pseudotime_[back], at)


METHODS = {OURS: Program(OURS, "branchwise", ours, partial(ours, support=0)), **RIVALS}
# What the page says of them.
PROGRAMS = {name: (method.title, getdoc(method.answer)) for name, method in METHODS.items()}


def cases(sets: list[Set], *, quick: bool) -> list[Run]:
    """What a method has to do: each set with seeds, and with some of its rows; the nulls."""
    n_seeds, n_parts, n_draws = (1, 1, 1) if quick else (3, 2, 5)
    return [
        *(
            {"set": known.name, **case}
            for known in sets
            for case in [
                *({"seed": seed} for seed in range(n_seeds)),
                *({"part": part} for part in range(n_parts)),
            ]
        ),
        *({"null": kind, "draw": number} for kind, number, _ in nulls(n_draws)),
    ]


def part_of(n: int, number: int) -> np.ndarray:
    """The rows of an 80 % subsample."""
    return np.sort(np.random.default_rng(number).choice(n, size=round(0.8 * n), replace=False))


def run_case(method: Method, case: Run, sets: dict[str, Set], folder: Path) -> Run:
    """What one fit comes to, or the message that it ended with.

    Times of whole sets are kept in the folder, for the fits that are compared with them.
    """
    first = folder / f"{case.get('set')}-0.npz"
    again = case.get("seed") != 0 and "set" in case
    if again and first.exists() and np.load(first)["seconds"] > ENOUGH_SECONDS:
        return {"skipped": f"the first fit took more than {ENOUGH_SECONDS} s"}
    if "part" in case and not first.exists():
        return {"failed": "no fit to all rows that it could be compared with"}
    try:
        if "null" in case:
            return run_null(method, case)
        known = sets[case["set"]]
        rows = part_of(len(known.X), case["part"]) if "part" in case else np.arange(len(known.X))
        answer, seconds = timed(method, known.X[rows], known.is_root[rows], case.get("seed", 0))
        if "part" in case:
            whole = np.load(first)["pseudotime"][rows]
            return {"seconds": seconds, "sub80": agreement(whole, answer.pseudotime)}
    except Exception as error:  # whatever a program raises is its result
        return {"failed": without_paths(f"{type(error).__name__}: {error}")}
    np.savez(
        folder / f"{known.name}-{case['seed']}.npz", pseudotime=answer.pseudotime, seconds=seconds
    )
    others = [folder / f"{known.name}-{seed}.npz" for seed in range(case["seed"])]
    same = [agreement(np.load(p)["pseudotime"], answer.pseudotime) for p in others if p.exists()]
    scores = {name: rounded(value) for name, value in score(known, answer).items()}
    return {"seconds": seconds, **scores, "agreement": same}


def run_null(method: Method, case: Run) -> Run:
    """The number of tips in a table without any; one end of its longest axis is the root."""
    X = next(X for *name, X in nulls(case["draw"] + 1) if name == [case["null"], case["draw"]])
    along = components(X, 1, 0)[:, 0]
    answer, seconds = timed(method, X, along <= np.quantile(along, ROOT_PART), 0)
    return {"seconds": seconds, "tips": answer.tips}


def timed(method: Method, X: np.ndarray, is_root: np.ndarray, seed: int) -> tuple[Answer, float]:
    """An answer, and the seconds of the processor that it took, whatever else the machine does."""
    start = time.process_time()
    with silence():
        answer = method(X, is_root, seed)
    return answer, round(time.process_time() - start, 3)


def agreement(a: np.ndarray, b: np.ndarray) -> float | None:
    """Rank correlation of two times; samples without a time come last in both."""
    return rounded(rank_correlation(np.where(np.isfinite(a), a, np.inf), b))


def rounded(value: float) -> float | None:
    """Four digits; None where there is no value, which JSON has no other word for."""
    return round(float(value), 4) if np.isfinite(value) else None


def work(job_path: str) -> None:
    """Run the cases of a job in this process, and write each result as a line."""
    job = json.loads(Path(job_path).read_text("utf-8"))
    program = METHODS[job["method"]]
    sets = {known.name: known for known in load_sets()}
    # Code that is compiled on first use is compiled here.
    small = simulated(*SIMULATED[0])
    rows = part_of(len(small.X), 0)[::2]
    timed(program.answer, small.X[rows], small.is_root[rows], 0)
    with Path(job["results"]).open("a", encoding="utf-8") as results:
        for case in job["cases"]:
            method = program.answer if case.get("seed") == 0 else program.again or program.answer
            signal.alarm(MOST_SECONDS)
            found = run_case(method, case, sets, Path(job["folder"]))
            signal.alarm(0)
            results.write(json.dumps(found) + "\n")
            results.flush()


def run_method(name: str, todo: list[Run]) -> list[Run]:
    """All cases of a method; a worker that ends before its time costs the case it was at."""
    start = time.perf_counter()
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    found: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="branchwise-bench-") as folder:
        job, results = Path(folder) / "job.json", Path(folder) / "results"
        while len(found) < len(todo):
            results.write_text("", "utf-8")
            rest = {"cases": todo[len(found) :], "results": str(results), "folder": folder}
            job.write_text(json.dumps({"method": name, **rest}), "utf-8")
            process = subprocess.run(
                [python_of(name), str(HERE / "answers.py"), "--work", str(job)],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            found += map(json.loads, results.read_text("utf-8").splitlines())
            if len(found) < len(todo):
                found.append({"failed": without_paths(how_it_ended(process))})
    n_failed = sum("failed" in record for record in found)
    seconds = time.perf_counter() - start
    say(f"   {name}: {seconds:.0f} s, {n_failed} of {len(found)} failed")
    return [{**case, **record} for case, record in zip(todo, found, strict=True)]


def python_of(name: str) -> str:
    """The interpreter that a method runs in."""
    return str(ENVIRONMENTS[name] / "bin" / "python") if name in ENVIRONMENTS else sys.executable


def how_it_ended(process: subprocess.CompletedProcess[str]) -> str:
    """The last words of a worker."""
    if process.returncode == -signal.SIGALRM:
        return f"took more than {MOST_SECONDS} s"
    if process.returncode < 0:
        return f"ended by signal {signal.Signals(-process.returncode).name}"
    return (process.stderr.strip().splitlines() or ["no message"])[-1]


def version_of(name: str) -> str:
    """The version of a method's program, in its own environment."""
    ask = f"from importlib.metadata import version; print(version({METHODS[name].distribution!r}))"
    command = [python_of(name), "-c", ask]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def told(known: Set) -> Run:
    """What the page says of a set."""
    n_samples, n_features = known.X.shape
    return {
        "name": known.name,
        "samples": n_samples,
        "features": n_features,
        "tips": known.tips,
        "real": known.real,
        "source": known.source,
    }


def dumps(document: dict[str, Any]) -> str:
    """JSON with a line for each run."""
    methods = {name: {**found, "runs": f"runs of {name}"} for name, found in methods_of(document)}
    text = json.dumps({**document, "methods": methods}, indent=1, ensure_ascii=False)
    for name, found in methods_of(document):
        lines = ",\n".join("    " + json.dumps(run, ensure_ascii=False) for run in found["runs"])
        text = text.replace(f'"runs of {name}"', f"[\n{lines}\n   ]")
    return text + "\n"


def methods_of(document: dict[str, Any]) -> list[tuple[str, Any]]:
    """Names and results, in the order of the page."""
    return [(name, document["methods"][name]) for name in METHODS if name in document["methods"]]


def measure(path: Path, chosen: list[str], n_jobs: int, *, quick: bool) -> None:
    """Run the chosen methods, and write the results after each; others' are kept."""
    sets = [known for known in load_sets() if not quick or len(known.X) <= 700]
    todo = cases(sets, quick=quick)
    known = json.loads(path.read_text("utf-8"))["methods"] if path.exists() else {}
    document = {"machine": machine(), "sets": [told(known) for known in sets], "methods": known}
    start = time.perf_counter()
    with ThreadPoolExecutor(n_jobs) as pool:
        futures = {pool.submit(run_method, name, todo): name for name in chosen}
        for future in as_completed(futures):
            name = futures[future]
            document["methods"][name] = {
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "version": version_of(name),
                "runs": future.result(),
            }
            path.write_text(dumps(document), "utf-8")
    say(f"finished after {(time.perf_counter() - start) / 60:.1f} minutes")


def main() -> None:
    """Run the methods, all or some, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few small cases, kept apart")
    parser.add_argument("--only", nargs="+", choices=list(METHODS), help="keep others' results")
    parser.add_argument("--jobs", type=int, default=n_cores(), help="methods at the same time")
    parser.add_argument("--render", action="store_true", help="only render the results present")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work)
        return
    folder = HERE / ("results-quick" if arguments.quick else "results")
    folder.mkdir(exist_ok=True)
    path = folder / "answers.json"
    if not arguments.render:
        chosen = arguments.only or list(METHODS)
        measure(path, chosen, arguments.jobs, quick=arguments.quick)
    document = json.loads(path.read_text("utf-8"))
    page = (folder if arguments.quick else HERE) / "answers.md"
    page.write_text(page_of(document), "utf-8")
    if not arguments.quick:
        readme = HERE.parent / "README.md"
        readme.write_text(in_readme(readme.read_text("utf-8"), document, PROGRAMS), "utf-8")


def page_of(document: dict[str, Any]) -> str:
    """The page, with what is known of how the constants were chosen."""
    choice = HERE / "results" / "choice.json"
    parts = json.loads(choice.read_text("utf-8")) if choice.exists() else []
    return render(document, PROGRAMS, parts)


if __name__ == "__main__":
    main()
