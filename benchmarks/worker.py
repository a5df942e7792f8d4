"""One measurement in a process of its own: ``python worker.py JOB RESULT``, both JSON files.

Threads are fixed by the environment that `run.py` sets, before anything is imported. The order
matters for memory: imports (the baseline), warm-up, data, fit (the peak), and only then
whatever judges the result.
"""

import json
import resource
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from programs import PROGRAMS, Program

MIB = 2**20
# A short fit is repeated within its process, at most so many times.
MOST_INNER = 5
# What a fitted estimator says about itself.
FITTED = (
    "n_iter_",
    "converged_",
    "objective_",
    "objective_error_",
    "optimality_gap_",
    "solver_",
    "sigma_",
    "lam_",
    "scale_",
    "edge_violation_",
)


def resident() -> float:
    """Memory held now, in MiB."""
    import psutil

    return psutil.Process().memory_info().rss / MIB


def peak() -> float:
    """Most memory held so far, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB


def seconds_of(function: Any) -> tuple[float, Any]:
    """Wall-clock seconds of a call, and what it returned."""
    start = time.perf_counter()
    value = function()
    return time.perf_counter() - start, value


def repeated(function: Any, short_seconds: float) -> tuple[list[float], Any]:
    """Seconds of a call, several times if it is short, and what it returned last."""
    elapsed, value = seconds_of(function)
    times = [elapsed]
    while len(times) < MOST_INNER and sum(times) < short_seconds:
        elapsed, value = seconds_of(function)
        times.append(elapsed)
    return times, value


def warm_up(program: Program, job: dict[str, Any]) -> float:
    """Seconds of first fits to few rows, which compile or load what is compiled."""
    from data import simulate

    rows = min(program.warm_rows, job["data"]["n"])
    X = simulate(**{**job["data"], "n": rows}).X
    total = 0.0
    for changes in program.warm_params:
        params = {**job["params"], **changes}
        for name in ("n_centers", "ncenter", "Nodes"):
            if isinstance(params.get(name), int):
                params[name] = min(params[name], rows // 2)
        total += seconds_of(lambda p=params: program.fit(X, job["threads"], **p))[0]
    return total


def measure_fit(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds and peak memory of a fit; with two iteration counts, seconds per iteration."""
    program = PROGRAMS[job["program"]]
    program.load()
    from data import simulate

    record: dict[str, Any] = {"rss_after_imports": resident()}
    record["first_call"] = warm_up(program, job)
    record["rss_after_warm_up"] = resident()
    simulated = simulate(**job["data"])
    X, params = simulated.X, dict(job["params"])
    neighbors = load_graph(job.get("graph"))
    if neighbors is not None:
        params["neighbors"] = neighbors
    record["input"] = X.nbytes / MIB
    record["rss_after_data"], record["peak_before_fit"] = resident(), peak()

    if "started" in job:
        Path(job["started"]).touch()
    counts, short = job.get("iterations"), job["short_seconds"]
    if counts:
        few, many = counts
        few_times, _ = repeated(lambda: fit_with(program, X, job, params, few), short)
        many_times, result = repeated(lambda: fit_with(program, X, job, params, many), short)
        record["times"], record["times_few"] = many_times, few_times
        difference = statistics.median(many_times) - statistics.median(few_times)
        record["per_iteration"] = difference / (many - few)
    else:
        record["times"], result = repeated(lambda: program.fit(X, job["threads"], **params), short)
    record["seconds"] = statistics.median(record["times"])
    record["peak"] = peak()
    record["fitted"] = fitted(result)
    for extra in job.get("extras", []):
        record[extra] = EXTRAS[extra](result, simulated, job)
    return record


def fit_with(program: Program, X: Any, job: dict[str, Any], params: dict[str, Any], n: int) -> Any:
    """A fit of exactly `n` iterations."""
    assert program.iterations is not None
    return program.fit(X, job["threads"], **{**params, program.iterations: n})


def fitted(result: Any) -> dict[str, Any]:
    """Those of `FITTED` that the result has, as plain numbers and words."""
    found = {name: getattr(result, name) for name in FITTED if hasattr(result, name)}
    return {name: plain(value) for name, value in found.items()}


def plain(value: Any) -> Any:
    """NumPy's scalars as Python's; JSON has no word for what is not a number."""
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value


def load_graph(path: str | None) -> Any:
    """A neighbour graph that `measure_neighbors` left, or None."""
    if path is None:
        return None
    from scipy import sparse

    return sparse.load_npz(path)


def ddrtree_parts(result: Any) -> tuple[Any, Any, Any, Any]:
    """(W, Z, C, edges) of a DDRTree, branchwise's or ddrtree-python's."""
    import numpy as np
    from scipy import sparse

    if hasattr(result, "stree"):
        n_centers = result.Y.shape[1]
        tree = result.stree[:n_centers, :n_centers]
        W, Z, C = result.W, result.Z.T, result.Y.T
    else:
        tree = result.tree_
        W, Z, C = result.components_.T, result.embedding_, result.centers_
    edges = np.column_stack(sparse.triu(tree, k=1).nonzero())
    return W, Z, C, edges


def judge_objective(result: Any, simulated: Any, job: dict[str, Any]) -> dict[str, Any]:
    """DDRTree's objective, by the same formula for all programs."""
    from objective import ddrtree_objective

    params = job["params"]
    W, Z, C, edges = ddrtree_parts(result)
    sigma = getattr(result, "sigma_", params.get("sigma"))
    lam = params.get("lam", params.get("lambda_"))
    Y = simulated.X - simulated.X.mean(axis=0)
    value = ddrtree_objective(Y, W, Z, C, edges, lam=lam, gamma=params["gamma"], sigma=sigma)
    return {"value": value, "n_edges": len(edges), "n_centers": len(C)}


def judge_tree(result: Any, simulated: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Correlation of distances along the learned tree with those along the true one.

    Both trees are judged in the space of the data, the points being the data: elpigraph's
    nodes are there already, DDRTree's are mapped back.
    """
    import numpy as np

    from data import true_tree_distances
    from measures import sampled_rows, tree_correlation

    if isinstance(result, dict):
        nodes, edges = result["NodePositions"], np.asarray(result["Edges"][0], dtype=int)
    else:
        _, _, C, edges = ddrtree_parts(result)
        nodes = result.inverse_transform(C)
    rows = sampled_rows(len(simulated.X))
    true = true_tree_distances(simulated.truth, rows)
    return {
        **tree_correlation(simulated.X[rows], nodes, edges, true),
        "n_nodes": len(nodes),
        "n_tips": int((np.bincount(edges.ravel()) == 1).sum()),
    }


def judge_gram(result: Any, simulated: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Seconds of one product YᵀY on the same array with the same threads."""
    Y = simulated.X
    times = [seconds_of(lambda: Y.T @ Y)[0] for _ in range(4)]
    return {"seconds": statistics.median(times[1:]), "times": times}


def judge_certificate(result: Any, simulated: Any, job: dict[str, Any]) -> dict[str, Any]:
    """The proven gap at the learned weights, by dense matrices, whichever path found them."""
    from branchwise.solvers.spl import gap_scale, optimality_gap

    problem, state = spl_state(result, simulated.X)
    gap = optimality_gap(problem, state)
    return {"gap": gap, "relative": gap / gap_scale(problem, state.s, state.logdet)}


EXTRAS = {
    "objective": judge_objective,
    "tree": judge_tree,
    "gram": judge_gram,
    "certificate": judge_certificate,
}


def measure_first_call(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds of the first and the second fit to a small table, nothing compiled before."""
    program = PROGRAMS[job["program"]]
    import_seconds, _ = seconds_of(program.load)
    from data import simulate

    X = simulate(**job["data"]).X
    first, _ = seconds_of(lambda: program.fit(X, job["threads"], **job["params"]))
    second, _ = seconds_of(lambda: program.fit(X, job["threads"], **job["params"]))
    return {"import_seconds": import_seconds, "first_call": first, "seconds": second}


def measure_profile(job: dict[str, Any]) -> dict[str, Any]:
    """The functions that a fit spends its time in, by their own time.

    One thread: the profiler sees no other. Compiled loops count for the function that
    calls them.
    """
    import cProfile
    import pstats

    program = PROGRAMS[job["program"]]
    program.load()
    from data import simulate

    warm_up(program, job)
    X = simulate(**job["data"]).X
    profile = cProfile.Profile()
    start = time.perf_counter()
    profile.runcall(program.fit, X, job["threads"], **job["params"])
    total = time.perf_counter() - start
    rows = []
    for (file, _, name), (_, calls, own, cumulative, _) in pstats.Stats(profile).stats.items():
        module = ".".join(Path(file).with_suffix("").parts[-2:]) if "/" in file else ""
        label = f"{module}:{name}" if module else name.split(" at 0x")[0].strip("<>")
        rows.append({"function": label, "calls": calls, "own": own, "cumulative": cumulative})
    rows.sort(key=lambda row: -row["own"])
    return {"seconds": total, "top": rows[:10]}


def measure_neighbors(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds of the exact neighbour search; the graph is left in a file for the fits."""
    import numpy as np
    from scipy import sparse
    from sklearn.neighbors import NearestNeighbors

    from data import simulate

    record: dict[str, Any] = {"rss_after_imports": resident()}
    X = simulate(**job["data"]).X
    record["input"] = X.nbytes / MIB
    search = NearestNeighbors(algorithm="brute", n_jobs=job["threads"], **job["params"])
    seconds, graph = seconds_of(lambda: search.fit(X).kneighbors_graph(mode="connectivity"))
    record["seconds"], record["times"], record["peak"] = seconds, [seconds], peak()
    if job.get("save"):
        sparse.save_npz(job["save"], sparse.csr_array(graph.astype(np.float32)), compressed=False)
    return record


def spl_problem(model: Any, X: Any) -> Any:
    """The problem that a fitted SPL solved: its edges and its scale."""
    from branchwise.losses import as_loss
    from branchwise.solvers.spl import SPLProblem, squared_distances

    Y = (X - X.mean(axis=0)) * model.scale_
    phi = squared_distances(Y, model.edges_)
    d, loss = model.embedding_.shape[1], as_loss(model.loss, float(model.C))
    return SPLProblem(Y, model.edges_, phi, d, float(model.gamma), loss)


def spl_state(model: Any, X: Any) -> tuple[Any, Any]:
    """The problem that a fitted SPL solved, and its exact state at the learned weights."""
    import numpy as np

    from branchwise.solvers.spl import evaluate

    problem = spl_problem(model, X)
    s = np.asarray(model.graph_.tocsr()[model.edges_[:, 0], model.edges_[:, 1]]).ravel()
    return problem, evaluate(problem, s)


def measure_accuracy(job: dict[str, Any]) -> dict[str, Any]:
    """Objective and embedding of SPL's paths for large data against those of the exact one."""
    program = PROGRAMS["branchwise.SPL"]
    program.load()
    from branchwise.solvers.spl import gap_scale
    from data import simulate
    from measures import procrustes_correlation

    X = simulate(**job["data"]).X
    exact = program.fit(X, job["threads"], **job["params"], solver="exact")
    problem, state = spl_state(exact, X)
    best, scale = state.objective, gap_scale(problem, state.s, state.logdet)
    record: dict[str, Any] = {"exact": {"objective": best, "gap": plain(exact.optimality_gap_)}}
    for solver in ("sparse", "sketch"):
        seconds, model = seconds_of(
            lambda solver=solver: program.fit(X, job["threads"], **job["params"], solver=solver)
        )
        objective = spl_state(model, X)[1].objective
        record[solver] = {
            "seconds": seconds,
            "objective": objective,
            "difference": abs(best - objective) / abs(best),
            "difference_to_scale": abs(best - objective) / scale,
            "procrustes": procrustes_correlation(exact.embedding_, model.embedding_),
            "fitted": fitted(model),
        }
    return record


def optimum(job: dict[str, Any]) -> tuple[Any, Any, float, float]:
    """(data, problem, optimal objective, target) of a comparison with Algorithm 1.

    The target is the objective that is short of the optimum by `tolerance` times the
    way up from S = 0, where Algorithm 1 starts.
    """
    import numpy as np

    from branchwise.solvers.spl import evaluate
    from data import simulate

    program = PROGRAMS["branchwise.SPL"]
    X = simulate(**job["data"]).X
    model = program.fit(X, job["threads"], **{**job["params"], "tol": 1e-8, "max_iter": 5000})
    problem = spl_problem(model, X)
    zero = evaluate(problem, np.zeros(len(problem.phi))).objective
    best = model.objective_
    return X, problem, best, best - job["tolerance"] * abs(best - zero)


def measure_to_objective(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds until SPL's objective reaches the target, with everything before its first step."""
    program = PROGRAMS["branchwise.SPL"]
    program.load()
    X, _, best, target = optimum(job)
    times: list[float] = []
    reached = best
    for _ in range(MOST_INNER):
        start = time.perf_counter()
        when: list[tuple[float, float]] = []

        def note(
            progress: Any, start: float = start, when: list[tuple[float, float]] = when
        ) -> None:
            if progress.objective >= target and not when:
                when.append((time.perf_counter() - start, progress.objective))

        program.fit(X, job["threads"], **job["params"], callback=note)
        times.append(when[0][0])
        reached = when[0][1]
    return {
        "times": times,
        "seconds": statistics.median(times),
        "optimum": best,
        "target": target,
        "objective": reached,
    }


def measure_subgradient(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds until Algorithm 1 reaches the target on the same problem, or how far it came."""
    PROGRAMS["branchwise.SPL"].load()
    from subgradient import algorithm_1

    _, problem, best, target = optimum(job)
    record = algorithm_1(
        problem.Y,
        problem.edges,
        problem.phi,
        d=problem.n_components,
        gamma=problem.gamma,
        slack=problem.loss.slack,
        target=target,
        max_seconds=job["max_seconds"],
        max_steps=job.get("max_steps"),
    )
    return {**record, "times": [record["seconds"]], "optimum": best, "target": target}


MODES = {
    "fit": measure_fit,
    "first-call": measure_first_call,
    "profile": measure_profile,
    "neighbors": measure_neighbors,
    "accuracy": measure_accuracy,
    "to-objective": measure_to_objective,
    "subgradient": measure_subgradient,
}


def main(job_path: str, result_path: str) -> None:
    """Run one job; a failure is a result, too."""
    warnings.simplefilter("ignore")
    job = json.loads(Path(job_path).read_text("utf-8"))
    try:
        result = {"status": "ok", **MODES[job["mode"]](job)}
    except MemoryError as error:
        result = {"status": "error", "message": f"MemoryError: {error}"}
    Path(result_path).write_text(json.dumps(result), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
