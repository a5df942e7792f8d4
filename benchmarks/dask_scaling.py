"""DDRTree on Dask, measured on one machine: time, memory and traffic of an iteration.

Writes results/dask.json and the figures in ../docs/scaling.md. All data are simulated; those of the
largest case are made in the workers when they are read, chunk by chunk.

    python benchmarks/dask_scaling.py [--quick] [--only PART ...]
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from branchwise import DDRTree
from branchwise.data.dask_passes import SPLIT_EVERY
from render import between_markers

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "scaling.md"
N_FEATURES, N_BRANCHES, NOISE = 50, 5, 0.25
GIB = 2**30
# Iterations to measure; the first one also compiles and warms up, and is left out.
N_ITER = 6
# The large case: so many workers with so many chunks at a time each.
N_WORKERS, N_THREADS = 2, 5


def simulated(block_info: Any = None, dtype: str = "float32") -> np.ndarray:
    """The rows of one chunk: straight branches that leave the origin, with Gaussian noise."""
    rows, columns = block_info[None]["chunk-shape"]
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((columns, N_BRANCHES)))[
        0
    ].T.astype(dtype)
    rng = np.random.default_rng([1, block_info[None]["chunk-location"][0]])
    branch = rng.integers(N_BRANCHES, size=rows)
    time_along = rng.random((rows, 1), dtype=dtype)
    noise = rng.standard_normal((rows, columns), dtype=dtype)
    noise *= np.asarray(NOISE, dtype=dtype)
    noise += 3 * time_along * directions[branch]
    return noise


def lazily(n_rows: int, chunk: int) -> Any:
    """A Dask array whose chunks are made when they are read."""
    sizes = (chunk,) * (n_rows // chunk) + ((n_rows % chunk,) if n_rows % chunk else ())
    return da.map_blocks(
        simulated, chunks=(sizes, (N_FEATURES,)), dtype=np.float32, meta=np.empty((0, 0), "f4")
    )


class Clock:
    """Notes when each iteration ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def __call__(self, progress: Any) -> None:
        """After an iteration."""
        self.ends.append(time.perf_counter())

    @property
    def seconds(self) -> float:
        """Of an iteration, the median of all but the first."""
        return statistics.median(np.diff(self.ends).tolist())


def fit(X: Any, n_iter: int = N_ITER, **options: Any) -> tuple[Any, float, float]:
    """A fit of so many iterations, seconds of one of them, and seconds in all."""
    clock, start = Clock(), time.perf_counter()
    model = DDRTree(random_state=0, max_iter=n_iter, tol=0, callback=clock, **options).fit(X)
    return model, clock.seconds, time.perf_counter() - start


def overhead(n_rows: int, n_repeats: int) -> dict[str, Any]:
    """The same samples in memory and in chunks of 100,000, on as many processors, in turn."""
    lazy = lazily(n_rows, 100_000)
    X, rows = lazy.compute(), []
    for name, n_processors in (("one thread", 1), ("two threads", 2), ("two processes", 2)):
        with ExitStack() as opened:
            if name == "two processes":
                chunks = opened.enter_context(cluster()).persist(lazy)
            else:
                opened.enter_context(dask.config.set(scheduler="threads", num_workers=n_processors))
                chunks = da.from_array(X, chunks=lazy.chunks, name=False)
            for _ in range(n_repeats):
                memory, per_iteration, total = fit(X, n_jobs=n_processors)
                chunked, chunked_iteration, chunked_total = fit(chunks)
                rows.append(
                    {
                        "on": name,
                        "memory": {"iteration": per_iteration, "total": total},
                        "dask": {"iteration": chunked_iteration, "total": chunked_total},
                        "difference": float(np.abs(memory.centers_ - chunked.centers_).max()),
                    }
                )
    return {"n_rows": n_rows, "rows": rows}


def chunk_counts(n_rows: int, counts: list[int]) -> dict[str, Any]:
    """Seconds per iteration of the same samples in more and more chunks, on both schedulers."""
    rows = []
    with cluster() as client:
        for count in counts:
            X = lazily(n_rows, n_rows // count)
            with dask.config.set(scheduler="threads", num_workers=2):
                threads = fit(X.persist())[1]
            on_cluster = fit(client.persist(X))[1]
            rows.append({"chunks": count, "threads": threads, "cluster": on_cluster})
    return {"n_rows": n_rows, "rows": rows}


@contextmanager
def cluster(n_threads: int = 1) -> Iterator[Any]:
    """A client of a cluster of processes on this machine."""
    with (
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=n_threads,
            processes=True,
            memory_limit="2GiB",
            dashboard_address=":0",
        ) as local,
        Client(local) as client,
    ):
        yield client


def count_bytes(dask_worker: Any = None, dask_scheduler: Any = None) -> int:
    """From now on, add up the bytes that this process writes to others; return those so far."""
    from distributed.comm.tcp import TCP

    if not hasattr(TCP, "branchwise_bytes"):
        TCP.branchwise_bytes, write = 0, TCP.write

        async def counted(self: Any, *args: Any, **options: Any) -> Any:
            size = await write(self, *args, **options)
            TCP.branchwise_bytes += int(size or 0)
            return size

        TCP.write = counted
    return int(TCP.branchwise_bytes)


def written(client: Any) -> int:
    """Bytes that client, scheduler and workers have written so far; the first two share one."""
    return count_bytes() + sum(client.run(count_bytes).values())


def peak_bytes() -> int:
    """The most memory that this process has held at any time."""
    return status_bytes("VmHWM")


def status_bytes(field: str) -> int:
    """A number that Linux tells of this process."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def large(n_rows: int, chunk: int) -> dict[str, Any]:
    """Time, memory of the workers, and traffic of samples that are made when they are read."""
    X = lazily(n_rows, chunk)
    with cluster(N_THREADS) as client:
        client.run(count_bytes), count_bytes()
        start = time.perf_counter()
        X.map_blocks(lambda block: block[:1, :1], chunks=(1, 1)).sum().compute()
        reading = time.perf_counter() - start
        traffic: list[int] = []
        ends: list[float] = []

        def note(progress: Any) -> None:
            traffic.append(written(client))
            ends.append(time.perf_counter())

        start = time.perf_counter()
        model = DDRTree(random_state=0, max_iter=N_ITER, tol=0, callback=note).fit(X)
        total = time.perf_counter() - start
        peaks = list(client.run(peak_bytes).values())
        first = float(abs(model.embedding_[:5]).sum().compute())
        return {
            "n_rows": n_rows,
            "chunk": chunk,
            "n_chunks": X.numblocks[0],
            "n_workers": N_WORKERS,
            "n_threads": N_THREADS,
            "n_centers": len(model.centers_),
            "n_components": model.centers_.shape[1],
            "reading": reading,
            "iteration": statistics.median(np.diff(ends).tolist()),
            "total": total,
            "traffic": statistics.median(np.diff(traffic).tolist()),
            "peaks": peaks,
            "client": peak_bytes(),
            "history": model.objective_history_.tolist(),
            "checked": first,
        }


def traffic_by_chunks(n_rows: int, counts: list[int]) -> dict[str, Any]:
    """Bytes per iteration against the number of chunks, and what the scheduler remembers."""
    rows = []
    with cluster() as client:
        client.run(count_bytes), count_bytes()
        # The most first: memory that was used before is not seen to grow.
        for count in sorted(counts, reverse=True):
            notes: list[tuple[int, int, int]] = []

            def note(progress: Any, notes: list[tuple[int, int, int]] = notes) -> None:
                tasks = client.run_on_scheduler(count_tasks)
                notes.append((written(client), tasks, resident_bytes()))

            fit_options = {"random_state": 0, "max_iter": N_ITER, "tol": 0, "callback": note}
            DDRTree(**fit_options).fit(lazily(n_rows, n_rows // count))
            steps = np.diff(notes, axis=0)
            rows.append(
                {
                    "chunks": count,
                    "bytes": float(np.median(steps[:, 0])),
                    "tasks": float(np.median(steps[:, 1])),
                    "remembered": float(steps[:, 2].sum() / len(steps)),
                }
            )
    return {"n_rows": n_rows, "rows": rows[::-1]}


def count_tasks(dask_scheduler: Any) -> int:
    """Tasks that the scheduler knows of."""
    return len(dask_scheduler.tasks)


def resident_bytes() -> int:
    """The memory that this process, in which the scheduler is, holds now."""
    return status_bytes("VmRSS")


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "dask": dask.__version__,
        "numpy": np.__version__,
    }


def ratios(rows: list[dict[str, Any]], what: str) -> list[float]:
    """Of Dask to memory, pair by pair."""
    return [row["dask"][what] / row["memory"][what] for row in rows]


def render(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    parts = []
    where = results["machine"]
    parts.append(
        f"Measured on one machine with {where['processors']} processors (Dask {where['dask']}, "
        f"NumPy {where['numpy']}); {N_FEATURES} features in single precision, all data simulated."
    )
    if "overhead" in results:
        found = results["overhead"]
        lines = ["| Dask on | an iteration | a whole fit | largest difference of a centre |"]
        lines += ["| --- | --- | --- | --- |"]
        names = list(dict.fromkeys(row["on"] for row in found["rows"]))
        for name in names:
            pairs = [row for row in found["rows"] if row["on"] == name]
            cells = []
            for what in ("iteration", "total"):
                values = ratios(pairs, what)
                cells.append(
                    f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
                )
            difference = max(row["difference"] for row in pairs)
            lines.append(f"| {name} | {' | '.join(cells)} | {difference:.0e} |")
        parts.append(
            f"**Overhead.** {found['n_rows']:,} samples in chunks of 100,000 on Dask, against the "
            f"same in memory on as many processors: ratio of the times, median (and range) of "
            f"{len(found['rows']) // len(names)} pairs of runs of {N_ITER} iterations. Centres are "
            "compared in single precision.\n\n" + "\n".join(lines)
        )
    if "chunks" in results:
        found = results["chunks"]
        lines = ["| chunks | threads, seconds | two processes, seconds |", "| --- | --- | --- |"]
        lines += [
            f"| {row['chunks']:,} | {row['threads']:.2f} | {row['cluster']:.2f} |"
            for row in found["rows"]
        ]
        parts.append(
            f"**Chunks.** One iteration of {found['n_rows']:,} samples, held in memory by the "
            "workers, against the number of chunks.\n\n" + "\n".join(lines)
        )
    if "traffic" in results:
        found = results["traffic"]
        lines = ["| chunks | MB per iteration | MB per chunk | tasks to remember, per iteration |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [
            f"| {row['chunks']:,} | {row['bytes'] / 1e6:.2f} | "
            f"{row['bytes'] / row['chunks'] / 1e6:.3f} | {row['tasks']:,.0f} |"
            for row in found["rows"]
        ]
        most = max(found["rows"], key=lambda row: row["chunks"])
        parts.append(
            f"**Traffic.** All that client, scheduler and two workers write to one another in an "
            f"iteration of {found['n_rows']:,} samples, tasks and heartbeats included. The "
            "scheduler remembers how the points came about, to have those of a lost worker made "
            f"again: with {most['chunks']:,} chunks its process grew by "
            f"{most['remembered'] / most['chunks'] / 1e3:.0f} kB per chunk and iteration.\n\n"
            + "\n".join(lines)
        )
    if "large" in results:
        found = results["large"]
        K, D, d = found["n_centers"], N_FEATURES, found["n_components"]
        state = 8 * (2 * K * d + D * d)
        peaks = ", ".join(f"{peak / GIB:.2f}" for peak in found["peaks"])
        parts.append(
            f"**Ten chunks at a time.** {found['n_rows']:,} × {D} samples "
            f"({found['n_rows'] * D * 4 / GIB:.1f} GiB, made when they are read) in "
            f"{found['n_chunks']:,} chunks, on {found['n_workers']} worker processes with "
            f"{found['n_threads']} threads and a limit of 2 GiB each: {found['iteration']:.1f} s "
            f"per iteration (of which about {found['reading']:.1f} s make the samples), "
            f"{found['total']:.0f} s for {N_ITER} iterations with all that comes before and after "
            f"them. The workers held at most {peaks} GiB, the client {found['client'] / GIB:.2f} "
            f"GiB. {found['traffic'] / 1e6:.1f} MB moved per iteration, "
            f"{found['traffic'] / found['n_chunks'] / 1e3:.0f} kB per chunk: the sums of a chunk "
            f"are {sum_bytes(found) / 1e3:.0f} kB (K = {K}), what a worker is told "
            f"{state / 1e3:.1f} kB. The samples "
            f"would be {found['n_rows'] * D * 4 / 1e6:,.0f} MB, their points "
            f"{found['n_rows'] * d * 8 / 1e6:,.0f} MB."
        )
    if "large" in results and "chunks" in results:
        chunks, n_processors = results["chunks"]["rows"], results["machine"]["processors"]
        parts.append(on_paper(results["large"], chunks, n_processors))
    return "\n\n".join(parts)


def sum_bytes(found: dict[str, Any]) -> int:
    """What the sums of a chunk take: RᵀR, RᵀY and Γ."""
    K = found["n_centers"]
    return 8 * K * (K + N_FEATURES + 1)


def on_paper(found: dict[str, Any], chunks: list[dict[str, Any]], n_processors: int) -> str:
    """The same for 10⁹ samples on 100 workers."""
    n_rows, n_workers, chunk = 10**9, 100, 10**6
    core_seconds = found["iteration"] * n_processors / found["n_rows"]
    reading = found["reading"] * n_processors / found["n_rows"]
    n_chunks = n_rows // chunk
    # Sums are merged eight at a time, and what comes of it again: 8/7 of them are on their way. Of
    # two workers half have to go to the other one; of a hundred, nearly all.
    elsewhere = sum_bytes(found) * SPLIT_EVERY / (SPLIT_EVERY - 1) / 2
    per_chunk = found["traffic"] / found["n_chunks"] + elsewhere
    few, many = chunks[0], chunks[-1]
    booking = (many["cluster"] - few["cluster"]) / (many["chunks"] - few["chunks"]) * n_chunks
    seconds = core_seconds * n_rows / n_workers
    traffic = per_chunk * n_chunks
    return (
        f"**On paper: 10⁹ × {N_FEATURES} on 100 workers** of one processor each, like those here. "
        f"{core_seconds * 1e6:.2f} µs of a processor per sample and iteration make {seconds:.0f} s "
        f"per iteration, {100 * reading / core_seconds:.0f} % of it to make the samples, in whose "
        f"place reading {n_rows * N_FEATURES * 4 / n_workers / 1e9:.0f} GB per worker and "
        "iteration will come. "
        f"In chunks of {chunk:,} samples ({chunk * N_FEATURES * 4 / 1e6:.0f} MB), "
        f"{n_chunks:,} of them, {per_chunk / 1e3:.0f} kB each make {traffic / 1e6:.0f} MB of "
        "traffic per iteration (what moved between two workers, and the half of the sums that had "
        f"no need to), {traffic / n_workers / 1e6:.1f} MB per worker; at 1 Gbit/s that is "
        f"{8 * traffic / 1e9:.1f} s if all of it went through one wire. So many chunks cost up to "
        f"{booking:.0f} s more per iteration (by the table of chunks, in which scheduler and "
        f"workers share {n_processors} processors). The points take "
        f"{n_rows * found['n_components'] * 8 / n_workers / 1e6:.0f} MB, and their order within "
        f"the chunks {n_rows * 8 / n_workers / 1e6:.0f} MB, of every worker's memory. 50 "
        f"iterations take {50 * seconds / 60:.0f} to {50 * (seconds + booking) / 60:.0f} minutes. "
        "Nothing of that size was run."
    )


# The first begins with a process that has not used much memory yet, which it measures.
PARTS = ("large", "traffic", "overhead", "chunks")


def main() -> None:
    """Measure what is asked for, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data; prints, writes nothing")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    size = 100 if options.quick else 1
    file = HERE / "results" / "dask.json"
    results = json.loads(file.read_text("utf-8")) if file.exists() and not options.quick else {}
    results["machine"] = machine()
    counts = [4, 10, 40, 100] if options.quick else [4, 10, 40, 100, 400, 1000]
    measure = {
        "overhead": lambda: overhead(1_000_000 // size, 1 if options.quick else 5),
        "chunks": lambda: chunk_counts(1_000_000 // size, counts),
        "traffic": lambda: traffic_by_chunks(1_000_000 // size, counts),
        "large": lambda: large(10_000_000 // size, 100_000 // size),
    }
    for name in options.only:
        results[name] = measure[name]()
        print(json.dumps({name: results[name]}), flush=True)
        if not options.quick:
            file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    text = render(results)
    if options.quick:
        print(text)
    else:
        PAGE.write_text(between_markers(PAGE.read_text("utf-8"), text), "utf-8")


if __name__ == "__main__":
    main()
