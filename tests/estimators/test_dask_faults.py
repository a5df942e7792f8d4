"""Fits on clusters of real processes that lose workers, the scheduler, files, or themselves."""

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import scale

from branchwise import DDRTree
from branchwise.data.dask_errors import ChunkError
from branchwise.model_selection import select
from branchwise.persistence.format import ModelFileError
from branchwise.trajectory import Trajectory

from ..conftest import branching

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

SIMULATED = branching(400, 5)
SETTINGS = {"n_components": 2, "n_centers": 12, "max_iter": 7, "tol": 0, "random_state": 0}
RING = np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1)
RESULTS = ["centers_", "components_", "mean_", "objective_history_"]


def chunks(function=None, n_rows=50):
    """The data in chunks, through a function that may do harm."""
    X = da.from_array(SIMULATED, chunks=(n_rows, 5))
    return X if function is None else X.map_blocks(function, dtype=float, meta=np.empty((0, 0)))


def fitted(X=None, resume=False, **others):
    return DDRTree(**{**SETTINGS, **others}).fit(chunks() if X is None else X, resume=resume)


def assert_identical(model, expected):
    for name in RESULTS:
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)
    np.testing.assert_array_equal(model.tree_.toarray(), expected.tree_.toarray())
    for name in ("embedding_", "labels_"):
        np.testing.assert_array_equal(
            getattr(model, name).compute(), getattr(expected, name).compute(), err_msg=name
        )


@pytest.fixture(scope="module")
def undisturbed():
    model = fitted()
    model.embedding_, model.labels_ = model.embedding_.persist(), model.labels_.persist()
    return model


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


def pids(client):
    return list(client.run(os.getpid).values())


def kill_a_worker(client):
    pid = pids(client)[0]
    os.kill(pid, signal.SIGKILL)
    return pid


def in_iterations(numbers, do):
    """A callback that does something after some of the iterations."""
    return lambda progress: do() if progress.iteration in numbers else None


def tasks(client):
    """What the scheduler knows of, and in which state."""
    return client.run_on_scheduler(
        lambda dask_scheduler: {str(key): t.state for key, t in dask_scheduler.tasks.items()}
    )


def wait_until(condition, seconds=20.0):
    """A fault takes its time to be seen; what never comes is a failure."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.mark.parametrize("iterations", [{3}, {1, 4}], ids=["once", "twice"])
def test_a_worker_killed_between_two_passes_changes_nothing(client, undisturbed, iterations):
    killed = []
    kill = in_iterations(iterations, lambda: killed.append(kill_a_worker(client)))
    assert_identical(fitted(callback=kill), undisturbed)
    assert len(set(killed)) == len(iterations)


def test_a_worker_killed_in_a_pass_changes_nothing(client, undisturbed, tmp_path):
    """The first process that reads chunk 5 in the third iteration does not survive it."""
    armed = tmp_path / "armed"

    def die_once(block, block_id=None):
        if block_id[0] == 5 and armed.exists():
            armed.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    model = fitted(chunks(die_once), callback=in_iterations({2}, armed.touch))
    assert not armed.exists()
    assert_identical(model, undisturbed)


def test_points_lost_after_the_fit_are_made_again(client, undisturbed):
    model = fitted()
    kill_a_worker(client)
    assert_identical(model, undisturbed)


def allow_failures(client, number):
    """How many workers may die over one task, beside the last."""

    def set_number(dask_scheduler):
        before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, number
        return before

    return client.run_on_scheduler(set_number)


def test_a_chunk_that_kills_every_worker_is_named(client, undisturbed):
    """It, or one that the worker had waiting: Dask does not know which."""

    def die(block, block_id=None):
        if block_id[0] == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    before = allow_failures(client, 1)
    try:
        with pytest.raises(
            ChunkError,
            match=r"^2 workers died one after another while they had chunk \d \(rows \d+ to \d+ of "
            r"X\) before them, most likely for want of memory, for it or for a chunk beside it; "
            r"make the chunks smaller \(X.rechunk\), or give the workers more memory\.$",
        ):
            fitted(chunks(die))
    finally:
        allow_failures(client, before)
    client.wait_for_workers(2, timeout=30)
    assert_identical(fitted(), undisturbed)


def test_a_chunk_that_raises_is_named_on_a_cluster(client):
    def ends_early(block, block_id=None):
        if block_id[0] == 6:
            raise OSError("part-6.bin ends after 12 of\n 400 bytes")
        return block

    with pytest.raises(
        ChunkError,
        match=r"^chunk 6 \(rows 300 to 349 of X\) cannot be read or used \(OSError: part-6.bin "
        r"ends after 12 of 400 bytes\); mend what it is read from, or leave it out\.$",
    ):
        fitted(chunks(ends_early))


def test_a_chunk_that_raises_in_a_later_pass_is_named_on_a_cluster(client, tmp_path):
    gone = tmp_path / "gone"

    def is_removed(block, block_id=None):
        if block_id[0] == 2 and gone.exists():
            raise FileNotFoundError("part-2.bin")
        return block

    with pytest.raises(
        ChunkError, match=r"chunk 2 \(rows 100 to 149 of X\) .*FileNotFoundError: p"
    ):
        fitted(chunks(is_removed), callback=in_iterations({3}, gone.touch))


def test_nan_on_a_cluster_is_named_by_chunk_and_row(client):
    X = SIMULATED.copy()
    X[123, 4] = np.nan
    with pytest.raises(ChunkError, match=r"^X\[123, 4\] is NaN, in row 23 of chunk 2, but"):
        fitted(da.from_array(X, chunks=(50, 5)))


def test_a_cut_chunk_file_of_zarr_is_named(client, tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.open_array(
        str(tmp_path / "x.zarr"), mode="w", shape=SIMULATED.shape, chunks=(50, 5), dtype="f8"
    )
    stored[:] = SIMULATED
    X = da.from_zarr(str(tmp_path / "x.zarr"))
    assert fitted(X, max_iter=1).n_iter_ == 1
    files = [f for f in (tmp_path / "x.zarr").rglob("*") if f.is_file() and "json" not in f.name]
    (third,) = [f for f in files if f.parts[-2:] == ("3", "0") or f.name == "3.0"]
    third.write_bytes(third.read_bytes()[:100])
    with pytest.raises(
        ChunkError, match=r"^chunk 3 \(rows 150 to 199 of X\) cannot be read or used"
    ):
        fitted(X)


def test_an_interrupted_fit_leaves_nothing_on_the_workers(client, tmp_path):
    """Ctrl-C in the middle of a pass, as the user's terminal sends it."""
    running = tmp_path / "running"

    def slow(block, block_id=None):
        if len(block) and block_id[0] == 3:
            running.touch()
        time.sleep(0.2)
        return block

    def interrupt():
        wait_until(running.exists)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    model = DDRTree(**SETTINGS)
    thread.start()
    # The error is kept, as a notebook does: what its frames refer to lives on.
    with pytest.raises(KeyboardInterrupt) as kept:
        model.fit(chunks(slow))
    thread.join()
    assert not hasattr(model, "components_")
    wait_until(lambda: "processing" not in tasks(client).values())
    assert not [key for key in tasks(client) if "chunk_moments" in key]
    del kept


def test_a_failed_fit_leaves_nothing_on_the_workers(client):
    def fail(block, block_id=None):
        if block_id[0] == 0:
            raise OSError("no such file")
        time.sleep(0.2)
        return block

    with pytest.raises(ChunkError):
        fitted(chunks(fail))
    wait_until(lambda: not {"processing", "waiting", "memory"} & set(tasks(client).values()))


def test_a_model_that_is_forgotten_frees_the_workers(client):
    known = set(tasks(client))
    model = fitted()
    assert set(tasks(client)) - known
    del model
    wait_until(lambda: not set(tasks(client)) - known)


def test_nothing_large_is_gathered(client):
    """Per iteration: small arrays, the same for twice as many samples."""

    class Sent(distributed.diagnostics.plugin.SchedulerPlugin):
        name = "sent"

        def __init__(self):
            self.sizes = {}

        def transition(self, key, start, finish, *args, nbytes=None, **others):
            if finish == "memory" and nbytes is not None:
                name = str(key).split("-")[1] if "branchwise" in str(key) else "other"
                self.sizes[name] = max(nbytes, self.sizes.get(name, 0))

    def largest(X):
        client.register_plugin(Sent())
        fitted(X)
        sizes = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.plugins["sent"].sizes)
        client.unregister_scheduler_plugin("sent")
        return sizes

    few = largest(chunks())
    X = da.from_array(np.tile(SIMULATED, (4, 1)), chunks=(200, 5))
    many = largest(X)
    # Points stay: they grow with the samples. What is merged does not.
    assert few["merge_sums"] == many["merge_sums"] < 8 * (12 * 12 + 12 * 5 + 12) + 1000
    assert few["merge_moments"] == many["merge_moments"] < 8 * (5 * 5 + 3 * 5) + 1000


# The scheduler as a process of its own


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@contextmanager
def separate_cluster():
    """A scheduler and a worker as processes of their own, and a client of them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    options = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler = start("distributed.cli.dask_scheduler", *options, "--port", port)
    worker = start(
        "distributed.cli.dask_worker", address, *options, "--nthreads", "1", "--no-nanny"
    )
    try:
        with distributed.Client(address, timeout=30) as client:
            client.wait_for_workers(1, timeout=30)
            yield client, scheduler
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


LOST = (
    r"^The connection to the Dask scheduler was lost \(\w+\); start the scheduler again and fit "
    r"again\. A fit with checkpoint=PATH goes on from its last finished iteration with "
    r"fit\(X, resume=True\)\.$"
)


def test_a_fit_goes_on_with_another_scheduler(tmp_path, undisturbed):
    checkpoint = tmp_path / "fit.branchwise"
    with separate_cluster() as (_, scheduler):
        model = DDRTree(
            **SETTINGS, checkpoint=checkpoint, callback=in_iterations({4}, scheduler.kill)
        )
        with pytest.raises(ConnectionError, match=LOST):
            model.fit(chunks())
        assert not hasattr(model, "components_")
    seen = []
    with separate_cluster():
        model = fitted(
            checkpoint=checkpoint, resume=True, callback=lambda p: seen.append(p.iteration)
        )
        assert seen == [5, 6, 7]
        assert_identical(model, undisturbed)


# Checkpoints


@pytest.fixture
def begun(tmp_path):
    """The file of a fit that was stopped after three iterations."""
    path = tmp_path / "fit.branchwise"
    fitted(checkpoint=path, max_iter=3)
    return path


@pytest.mark.parametrize("n_rows", [50, 137])
def test_a_fit_goes_on_from_its_checkpoint(begun, undisturbed, n_rows):
    """Also in other chunks, and also in memory: the steps are those of the same data."""
    seen = []
    model = fitted(
        chunks(n_rows=n_rows),
        checkpoint=begun,
        resume=True,
        callback=lambda progress: seen.append(progress.iteration),
    )
    assert seen == [4, 5, 6, 7]
    np.testing.assert_allclose(model.centers_, undisturbed.centers_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        model.embedding_.compute(), undisturbed.embedding_.compute(), rtol=0, atol=1e-12
    )


def test_a_fit_of_chunks_goes_on_in_memory(begun, undisturbed):
    model = DDRTree(**SETTINGS, checkpoint=begun).fit(SIMULATED, resume=True)
    np.testing.assert_allclose(model.embedding_, undisturbed.embedding_.compute(), atol=1e-12)


def test_resume_without_a_file_begins_anew(tmp_path, undisturbed):
    assert_identical(fitted(checkpoint=tmp_path / "none.branchwise", resume=True), undisturbed)


def test_a_finished_fit_is_resumed_without_a_further_iteration(tmp_path, undisturbed):
    path = tmp_path / "fit.branchwise"
    fitted(checkpoint=path)
    seen = []
    model = fitted(checkpoint=path, resume=True, callback=seen.append)
    assert seen == []
    assert_identical(model, undisturbed)


def test_resume_needs_a_checkpoint():
    with pytest.raises(ValueError, match=r"^resume=True needs the file .*; set checkpoint=PATH"):
        fitted(resume=True)


def test_a_checkpoint_that_was_cut_short_is_refused(begun):
    whole = begun.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        begun.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=re.escape(str(begun))):
            fitted(checkpoint=begun, resume=True)


def test_a_file_that_is_no_checkpoint_is_refused(begun):
    DDRTree(2, n_centers=5, max_iter=1, tol=0).fit(SIMULATED).save(begun)
    with pytest.raises(ModelFileError, match="it cannot be resumed from: delete it and fit again"):
        fitted(checkpoint=begun, resume=True)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_centers": 9}, "n_centers=12, but this one has n_centers=9; resume with the same data"),
        ({"gamma": 10.0}, "gamma=2.0, but this one has gamma=10.0; "),
        ({"lam": 1.5}, "lam=80.0, but this one has lam=1.5; "),
        ({"sigma": 0.5}, "sigma=auto, but this one has sigma=0.5; "),
        ({"assignment": "hard"}, "assignment=soft, but this one has assignment=hard; "),
        ({"structure": "ring"}, r"structure=Tree\(\), but this one has structure=Ring\(.*\); "),
        ({"init": np.eye(12, 2)}, r"init=None, but this one has init=an array \(\w+\); "),
        ({"random_state": 1}, "random_state=0, but this one has random_state=1; "),
        ({"random_state": None}, "random_state=0, but this one has random_state=None; "),
        ({"n_components": 3}, "n_components=2, but this one has n_components=3; "),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_checkpoint_of_other_parameters_is_refused(begun, change, match):
    with pytest.raises(ValueError, match=match):
        fitted(checkpoint=begun, resume=True, **change)


def test_a_checkpoint_of_another_graph_or_start_is_refused(tmp_path):
    path = tmp_path / "fit.branchwise"
    given = {"checkpoint": path, "structure": RING, "init": np.eye(12, 2)}
    fitted(**given, max_iter=3)
    assert_identical(fitted(**given, resume=True), fitted(structure=RING, init=np.eye(12, 2)))
    with pytest.raises(ValueError, match=r"a graph \(\w+\), but this one has structure=a graph"):
        fitted(**given | {"structure": 2 * RING}, resume=True)
    with pytest.raises(ValueError, match=r"an array \(\w+\), but this one has init=an array"):
        fitted(**given | {"init": np.ones((12, 2))}, resume=True)


def test_a_checkpoint_of_other_data_is_refused(begun):
    with pytest.raises(ValueError, match="n_samples=400, but this one has n_samples=350"):
        fitted(chunks()[:350], checkpoint=begun, resume=True, lam=40.0)
    for other in (chunks() * 2, chunks() + 1, chunks()[:, ::-1]):
        with pytest.raises(ValueError, match="is of a fit to other data; resume with the same dat"):
            fitted(other, checkpoint=begun, resume=True)


@pytest.mark.parametrize("where", ["memory", "Dask"])
def test_standardised_data_are_told_apart(where, tmp_path):
    """Means, variances, and hence their sum, are the same."""
    path = tmp_path / "fit.branchwise"
    one, other = (scale(branching(400, 5, seed=seed)) for seed in (0, 1))
    model = DDRTree(**SETTINGS | {"max_iter": 3}, checkpoint=path).fit(one)
    if where == "Dask":
        other = da.from_array(other, chunks=(50, 5))
    with pytest.raises(ValueError, match="is of a fit to other data"):
        clone(model).fit(other, resume=True)


def test_rounding_does_not_make_other_data(begun, undisturbed, rng):
    X = SIMULATED * (1 + 1e-15 * rng.normal(size=SIMULATED.shape))
    model = fitted(da.from_array(X, chunks=(130, 5)), checkpoint=begun, resume=True)
    np.testing.assert_allclose(model.centers_, undisturbed.centers_, atol=1e-9)


@pytest.mark.parametrize("first", ["memory", "Dask"])
def test_more_features_than_samples_go_on_elsewhere(first, tmp_path, rng):
    """In memory such samples are written in a basis of their own; the file does not know it."""
    X, path = rng.normal(size=(30, 50)), tmp_path / "fit.branchwise"
    tables = {"memory": X, "Dask": da.from_array(X, chunks=(7, 50))}
    given = {"n_centers": 6, "tol": 0, "random_state": 0}
    whole = DDRTree(**given, max_iter=6).fit(X)
    DDRTree(**given, max_iter=3, checkpoint=path).fit(tables.pop(first))
    (other,) = tables.values()
    model = DDRTree(**given, max_iter=6, checkpoint=path).fit(other, resume=True)
    np.testing.assert_allclose(model.objective_history_, whole.objective_history_, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(model.embedding_), whole.embedding_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("what", ["a table", "a model", "nothing"])
def test_a_file_that_is_no_checkpoint_is_not_replaced(what, tmp_path):
    path = tmp_path / "precious"
    path.write_text("a,b\n1,2\n" if what == "a table" else "")
    if what == "a model":
        fitted(max_iter=1).save(path)
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match="is a file already, and no checkpoint of DDRTree or a dam"
    ):
        fitted(checkpoint=path)
    assert path.read_bytes() == before


def test_a_checkpoint_is_replaced_by_the_next_fit(begun, undisturbed):
    assert_identical(fitted(checkpoint=begun), undisturbed)
    assert fitted(checkpoint=begun, resume=True).n_iter_ == 7


def test_refits_write_no_checkpoint(tmp_path):
    path = tmp_path / "fit.branchwise"
    model = DDRTree(2, n_centers=12, random_state=0, checkpoint=path).fit(SIMULATED)
    before = path.read_bytes()
    Trajectory.from_estimator(model).support(SIMULATED, n_resamples=2, random_state=0)
    assert path.read_bytes() == before
    grid = {"n_centers": [8, 12]}
    chosen = select(model, SIMULATED, grid, n_folds=2, random_state=0).best_estimator_
    assert DDRTree(**chosen.get_params()).fit(SIMULATED, resume=True).n_iter_ == chosen.n_iter_


def test_a_checkpoint_in_no_folder_is_refused_before_anything_is_read(tmp_path):
    def read(block):
        raise AssertionError("a chunk was read")

    for path, wrong in (
        (tmp_path / "none" / "fit.branchwise", "is in a folder that does not exist"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(ValueError, match=f"^checkpoint=.* {wrong}, but must be the name of a"):
            fitted(chunks(read), checkpoint=path)


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path):
    def read(block):
        raise AssertionError("a chunk was read")

    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("root may write anywhere")
    with pytest.raises(ValueError, match="is in a folder that cannot be written to, but must be"):
        fitted(chunks(read), checkpoint=locked / "fit.branchwise")


ENDLESS = """
import sys
import dask.array as da
import numpy as np
from branchwise import DDRTree
X = da.from_array(np.load(sys.argv[1]), chunks=(50, 5))
print("ready", flush=True)
while True:
    DDRTree(2, n_centers=12, max_iter=7, tol=0, random_state=0, checkpoint=sys.argv[2]).fit(X)
"""


@pytest.mark.parametrize("moment", [0.0, 0.11, 0.37])
def test_a_fit_that_is_killed_leaves_a_whole_checkpoint_or_none(tmp_path, undisturbed, moment):
    data, path = tmp_path / "x.npy", tmp_path / "fit.branchwise"
    np.save(data, SIMULATED)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", ENDLESS, str(data), str(path)],
        stdout=subprocess.PIPE,
    )
    with process:
        process.stdout.readline()
        wait_until(path.exists, 60)
        time.sleep(moment)
        process.kill()
    assert_identical(fitted(checkpoint=path, resume=True), undisturbed)
