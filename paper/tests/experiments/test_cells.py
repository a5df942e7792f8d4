"""Cells are computed once, whatever happens in between."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from branchwise_paper.experiments.cells import FOLDER, Cell, compute, summed
from branchwise_paper.experiments.settings import Settings

VALUES = np.arange(5.0)
CALLS = []


def counted(values, factor):
    CALLS.append(factor)
    return summed(values, factor)


def failing(values, factor):
    raise ValueError(f"no sum for factor {factor}")


@pytest.fixture
def settings(tmp_path):
    CALLS.clear()
    return Settings(out=tmp_path, n_processes=1)


def cells(function, factors, values=VALUES):
    return [Cell(f"factor {f}", function, {"values": values}, {"factor": f}) for f in factors]


def test_results_on_disk_are_not_computed_again(settings):
    first = compute(cells(counted, [1, 2]), settings, "sums")
    again = compute(cells(counted, [2, 3, 1]), settings, "sums")
    assert CALLS == [1, 2, 3]
    assert [one.result["sum"] for one in again] == [20.0, 30.0, 10.0]
    assert again[0].seconds == first[1].seconds


def test_other_data_are_another_cell(settings):
    compute(cells(counted, [1]), settings, "sums")
    [found] = compute(cells(counted, [1], VALUES + 1), settings, "sums")
    assert found.result == {"sum": 15.0}
    compute(cells(counted, [1], VALUES.astype(np.float32)), settings, "sums")
    assert len(CALLS) == 3


def test_fresh_computes_all_again(settings):
    compute(cells(counted, [1]), settings, "sums")
    compute(cells(counted, [1]), replace(settings, fresh=True), "sums")
    assert CALLS == [1, 1]


def test_a_damaged_result_is_computed_again(settings):
    compute(cells(counted, [1]), settings, "sums")
    [path] = (settings.out / FOLDER).iterdir()
    path.write_bytes(path.read_bytes()[:50])
    [found] = compute(cells(counted, [1]), settings, "sums")
    assert CALLS == [1, 1]
    assert found.result == {"sum": 10.0}


def test_a_failure_is_told_not_kept_and_stops_nobody(settings):
    found = compute([*cells(failing, [1]), *cells(counted, [2])], settings, "sums")
    assert found[0].error == "ValueError: no sum for factor 1"
    assert found[1].result == {"sum": 20.0}
    assert len(list((settings.out / FOLDER).iterdir())) == 1


def test_processes_give_the_same_results_in_order(settings):
    found = compute(cells(summed, range(5)), replace(settings, n_processes=2), "sums")
    assert [one.result["sum"] for one in found] == [10.0 * f for f in range(5)]


def test_each_cell_advances_the_bar_once(settings):
    from contextlib import contextmanager

    seen = []

    @contextmanager
    def bar(total, name):
        seen.append((total, name))
        yield seen.append

    compute(cells(counted, [1]), settings, "sums")
    compute(cells(counted, [1, 2]), replace(settings, bar=bar), "sums")
    assert seen == [(2, "sums"), "factor 1", "factor 2"]


SLOW = """
import os, sys, time
from pathlib import Path
import numpy as np
from branchwise_paper.experiments.cells import Cell, compute
from branchwise_paper.experiments.settings import Settings

def slow(values, factor):
    Path(sys.argv[1], f"started-{factor}").write_text(str(os.getpid()))
    time.sleep(0.1 if factor < 2 else float(sys.argv[2]))
    return {"sum": float(factor * values.sum())}

if __name__ == "__main__":
    cells = [Cell(str(f), slow, {"values": np.arange(5.0)}, {"factor": f}) for f in range(4)]
    settings = Settings(out=Path(sys.argv[1]), n_processes=2, note=print)
    print([one.result["sum"] for one in compute(cells, settings, "sums")])
"""


def is_running(path):
    """Whether the process whose number a file holds is there, and no zombie."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", path.read_text()], capture_output=True)
    return bool(found.stdout.strip()) and not found.stdout.startswith(b"Z")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_and_leaves_no_process(tmp_path, number):
    script = tmp_path / "slow_cells.py"
    script.write_text(SLOW)
    command = [sys.executable, str(script), str(tmp_path)]
    run = subprocess.Popen([*command, "600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    started = [tmp_path / "started-2", tmp_path / "started-3"]
    while not all(path.exists() and path.read_text() for path in started):
        assert time.monotonic() < deadline, run.stderr.read()
        time.sleep(0.05)
    assert all(map(is_running, started))
    run.send_signal(number)
    run.communicate(timeout=60)
    while any(map(is_running, started)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert len(list((tmp_path / FOLDER).iterdir())) == 2
    again = subprocess.run([*command, "0"], capture_output=True, text=True, check=True, timeout=60)
    assert again.stdout.splitlines() == [
        "sums: 2 of 4 cells were computed before.",
        "[0.0, 10.0, 20.0, 30.0]",
    ]
