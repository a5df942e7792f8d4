"""Run the benchmarks: ``python benchmarks/run.py [--quick] [--only GROUP ...] [--render]``.

Every measurement is a process of its own (`worker.py`). This one imports only the standard
library: a child inherits its parent's size as the least peak that it can report.
"""

import argparse
import datetime
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cases import GROUPS, Case
from programs import PROGRAMS

HERE = Path(__file__).resolve().parent
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def main() -> int:
    """Run the groups asked for, and render all results present."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, results kept apart")
    parser.add_argument("--only", nargs="+", choices=list(GROUPS), help="run these groups only")
    parser.add_argument("--render", action="store_true", help="only render the results present")
    arguments = parser.parse_args()
    results = HERE / ("results-quick" if arguments.quick else "results")
    results.mkdir(exist_ok=True)
    start = time.perf_counter()
    n_failed = 0
    if not arguments.render:
        for name in arguments.only or GROUPS:
            n_failed += run_group(name, results, quick=arguments.quick)
            if not arguments.quick:
                render(results)
        say(f"finished after {(time.perf_counter() - start) / 60:.1f} minutes")
    render(results, show=True)
    if n_failed:
        say(f"{n_failed} cases failed; see {results.name}/*.json")
    return min(n_failed, 1)


def render(results: Path, *, show: bool = False) -> None:
    """Write tables, targets and picture, in a process of its own to stay small."""
    command = [sys.executable, str(HERE / "render.py"), str(results)]
    subprocess.run(command + (["--print"] if show else []), check=True)


def run_group(name: str, results: Path, *, quick: bool) -> int:
    """Measure every case of a group, writing its file after each; return how many failed."""
    group = GROUPS[name]
    cases = group.cases(quick)
    start = time.perf_counter()
    say(f"== {name}: {group.title}")
    document: dict[str, Any] = {
        "group": name,
        "title": group.title,
        "quick": quick,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(cases),
        "cases": [],
    }
    with tempfile.TemporaryDirectory(prefix="branchwise-bench-") as folder:
        bench = Bench(Path(folder), quick=quick)
        for case in cases:
            document["cases"].extend(bench.measure(case))
            text = json.dumps(document, indent=1, ensure_ascii=False)
            (results / f"{name}.json").write_text(text + "\n", "utf-8")
    say(f"   {time.perf_counter() - start:.0f} s in all")
    return sum(case["status"] == "error" for case in document["cases"])


class Bench:
    """Runs jobs in fresh processes, and remembers which number of threads was best."""

    def __init__(self, folder: Path, *, quick: bool):
        self.folder, self.quick = folder, quick
        self.trials: dict[str, dict[int, dict[str, Any]]] = {}
        self.graphs: dict[str, str] = {}

    def measure(self, case: Case) -> list[dict[str, Any]]:
        """Records of a case: of its neighbour search, if it has one, and of itself."""
        records = []
        job = job_of(case)
        if case.neighbors is not None:
            sizes = {case.data["n"], (case.pilot or case.data)["n"]}
            searches = [self.neighbor_graph(case, n) for n in sorted(sizes)]
            records.extend(search for search in searches if search is not None)
        threads, trials = self.best_threads(case)
        runs = [run for run in trials.get(threads, []) if run.pop("is_case")]
        while len(runs) < case.repeats and all(run["status"] == "ok" for run in runs):
            runs.append(self.run(job, threads, case.timeout))
        scores = {count: score(trial[0]) for count, trial in trials.items()}
        seconds = {count: value for count, value in scores.items() if value < float("inf")}
        record = {
            "name": case.name,
            "program": case.program,
            "mode": case.mode,
            "data": {**case.data, "simulated": True},
            "params": case.params,
            "options": case.options,
            "iterations": case.iterations,
            "threads": threads,
            "thread_trials": {"pilot": case.pilot, "seconds": seconds} if seconds else None,
            **summary(runs),
            "runs": runs,
        }
        say(f"   {case.name}: {describe(record)}")
        return [*records, record]

    def best_threads(self, case: Case) -> tuple[int, dict[int, list[dict[str, Any]]]]:
        """The number of threads with which the case, or its pilot, is fastest; all trials."""
        if isinstance(case.threads, int):
            return case.threads, {}
        if case.threads == "all" or (self.quick and case.program.startswith("branchwise")):
            return n_cores(), {}
        pilot = job_of(case, case.pilot or {})
        is_case = pilot == job_of(case)
        key = json.dumps(pilot, sort_keys=True)
        if key not in self.trials:
            timeout = case.timeout if is_case else min(case.timeout, 600.0)
            self.trials[key] = {
                count: self.run(pilot, count, timeout) for count in sorted({1, n_cores()})
            }
        trials = self.trials[key]
        best = min(trials, key=lambda count: score(trials[count]))
        return best, {count: [{**run, "is_case": is_case}] for count, run in trials.items()}

    def neighbor_graph(self, case: Case, n: int) -> dict[str, Any] | None:
        """Search the neighbours of the first n rows once; None if that was done before."""
        table = {**case.data, "n": n}
        key = json.dumps(table, sort_keys=True)
        if key in self.graphs:
            return None
        self.graphs[key] = str(self.folder / f"neighbors-{len(self.graphs)}.npz")
        params = {"n_neighbors": case.neighbors}
        job = {"mode": "neighbors", "program": "scikit-learn", "data": table, "params": params}
        run = self.run({**job, "save": self.graphs[key]}, n_cores(), case.timeout)
        record = {
            **job,
            "name": f"{table['name']} N={n}, neighbour search",
            "data": {**table, "simulated": True},
            "threads": n_cores(),
            **summary([run]),
            "runs": [run],
        }
        say(f"   {record['name']}: {describe(record)}")
        return record

    def run(self, job: dict[str, Any], threads: int, timeout: float) -> dict[str, Any]:
        """One job in a fresh process."""
        job_file, result_file = self.folder / "job.json", self.folder / "result.json"
        result_file.unlink(missing_ok=True)
        graph = self.graphs.get(json.dumps(job["data"], sort_keys=True))
        started = self.folder / "started"
        started.unlink(missing_ok=True)
        told = {"threads": threads, "graph": graph, "short_seconds": 0.5 if self.quick else 2.0}
        told["started"] = str(started)
        job_file.write_text(json.dumps({**job, **told}), "utf-8")
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
        if job["mode"] == "first-call":
            environment["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=self.folder)
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), str(job_file), str(result_file)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # The session was started for this process alone: with it end its children.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            # Imports, data and compiling are not the fit's.
            seconds = time.time() - started.stat().st_mtime if started.exists() else 0.0
            return {"status": "timeout", "threads": threads, "timeout": seconds}
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        total = {"threads": threads, "process_seconds": time.perf_counter() - start}
        if result_file.exists():
            return {**json.loads(result_file.read_text("utf-8")), **total}
        if process.returncode < 0:
            message = f"ended by signal {signal.Signals(-process.returncode).name}"
        else:
            message = errors.strip().splitlines()[-1] if errors.strip() else "no message"
        say(f"   failed: {errors.strip() or message}")
        return {"status": "error", "message": without_paths(message), **total}


def job_of(case: Case, pilot: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a worker has to know; with a pilot, of a smaller version of the case."""
    job = {
        "mode": case.mode,
        "program": case.program,
        "data": case.data,
        "params": case.params,
        "iterations": case.iterations,
        "extras": case.extras,
        **case.options,
    }
    changes = dict(pilot or {})
    n = changes.pop("n", case.data["n"])
    job["data"] = {**case.data, "n": n}
    if "max_steps" in changes:
        job["max_steps"] = changes.pop("max_steps")
    params = {**case.params, **changes}
    job["params"] = {name: 5.0 * n if value == "5N" else value for name, value in params.items()}
    return job


def score(run: dict[str, Any]) -> float:
    """What a number of threads is chosen by; infinite for a run that did not finish."""
    if run["status"] != "ok":
        return float("inf")
    per_iteration = run.get("per_iteration", 0.0)
    # The difference of two noisy times may come out negative.
    return float(per_iteration if per_iteration > 0 else run["seconds"])


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Median and spread over processes, and the peak over the imports."""
    failed = [run for run in runs if run["status"] != "ok"]
    if failed:
        kept = ("status", "message", "timeout")
        return {key: value for key, value in failed[0].items() if key in kept}
    found: dict[str, Any] = {"status": "ok", "repeats": len(runs)}
    for key in ("seconds", "per_iteration", "first_call"):
        if key in runs[0]:
            values = [run[key] for run in runs]
            found[key] = {
                "median": statistics.median(values),
                "min": min(values),
                "max": max(values),
            }
    if "times" in runs[0]:
        # The spread is that of all single fits, in and across processes.
        times = [value for run in runs for value in run["times"]]
        found["seconds"] |= {"min": min(times), "max": max(times), "fits": len(times)}
    if "rss_after_imports" in runs[0]:
        found["peak_mib"] = max(run["peak"] for run in runs)
        found["peak_over_imports_mib"] = max(run["peak"] - run["rss_after_imports"] for run in runs)
        found["input_mib"] = runs[0]["input"]
    return found


def describe(record: dict[str, Any]) -> str:
    """One line about a record."""
    if record["status"] == "timeout":
        return f"not finished after {record['timeout']:.0f} s"
    if record["status"] != "ok":
        return f"{record['status']}: {record['message']}"
    parts = [f"{record['threads']} threads"]
    if "seconds" in record:
        parts.append(f"{record['seconds']['median']:.4g} s")
    if "per_iteration" in record:
        parts.append(f"{record['per_iteration']['median']:.4g} s per iteration")
    if "peak_over_imports_mib" in record:
        parts.append(f"{record['peak_over_imports_mib']:.0f} MiB over the imports")
    return ", ".join(parts)


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """The kind of machine; nothing that names it."""
    cpu = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"model name\s*:\s*(.*)", information.read_text("utf-8"))
        cpu = found[1] if found else cpu
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {
        "cpu": cpu,
        "cores": n_cores(),
        "memory_gib": round(memory, 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def versions(cases: list[Case]) -> dict[str, str]:
    """Versions of the programs of a group and of what they stand on."""
    names = dict.fromkeys(PROGRAMS[case.program].distribution for case in cases)
    found = {}
    for name in ("branchwise", *names, *PACKAGES):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def without_paths(message: str) -> str:
    """A message without the folders of this machine."""
    return re.sub(r"(/[\w.+-]+){2,}/", "…/", message)


def say(text: str) -> None:
    """Progress, at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
