"""`--scheduler`: where Dask works, for tables that are read chunk by chunk."""

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from .. import __version__
from .._compat import import_extra
from .._messages import listed
from ..data.dask_errors import is_connection_lost
from .console import SECONDS_BEFORE_BAR, Console, Failure, Usage

# How long to wait for a scheduler to answer, and for its first worker.
SECONDS_TO_ANSWER = 10
NEEDS = "--scheduler"


@contextmanager
def scheduler(
    address: str | None, console: Console, remedy: str = "run the command again"
) -> Iterator[dict[str, Any] | None]:
    """Let Dask work there, and close it at the end; what there is to record about it.

    Parameters
    ----------
    address : str or None
        "threads", those of this process; "local", processes of this machine; or the address of a
        scheduler that runs. None: nothing is Dask's.
    console : Console
    remedy : str
        What to do when the scheduler is lost.
    """
    if address is None:
        yield None
        return
    dask = import_extra("dask", NEEDS, "dask")
    import_extra("dask.array", NEEDS, "dask")
    if address == "threads":
        system = import_extra("dask.system", NEEDS, "dask")
        with dask.config.set(scheduler="threads"):
            yield {"kind": "threads", "workers": 1, "threads": system.CPU_COUNT}
        return
    distributed = import_extra("distributed", NEEDS, "dask")
    opened = local_cluster if address == "local" else running_cluster
    with quiet_logs(console), loss_told(remedy), opened(distributed, address) as client:
        check_workers(client, address)
        if not console.is_json and "dashboard" in client.scheduler_info()["services"]:
            console.note(f"dashboard at {client.dashboard_link}")
        threads = client.nthreads()
        yield {
            "kind": "local" if address == "local" else "cluster",
            "address": client.scheduler.address,
            "workers": len(threads),
            "threads": sum(threads.values()),
        }


def check_address(address: str) -> None:
    """A word without a port is not an address: say so rather than wait for an answer."""
    if address not in {"threads", "local"} and ":" not in address:
        raise Usage(
            f"--scheduler {address} must be threads, local, or the address of a Dask scheduler, "
            "such as tcp://10.0.0.1:8786; write one of these."
        )


@contextmanager
def quiet_logs(console: Console) -> Iterator[None]:
    """Errors reach the user as one line, not also as what Dask logs of them."""
    before = logging.root.manager.disable
    if not console.is_debug:
        logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def loss_told(remedy: str) -> Iterator[None]:
    """A lost scheduler in the words of the command line."""
    try:
        yield
    except Exception as error:
        if not is_loss(error):
            raise
        raise Failure(
            "the connection to the Dask scheduler was lost; start the scheduler again, and "
            f"{remedy}."
        ) from error


def is_loss(error: Exception) -> bool:
    """Whether an error says that the scheduler is gone, in whichever of the ways that has.

    Examples
    --------
    >>> from branchwise.cli.cluster import is_loss
    >>> is_loss(ConnectionError("gone")), is_loss(BrokenPipeError("of `head`, not of Dask"))
    (True, False)
    """
    # What a client says that finds it gone when it asks for something small.
    is_unanswered = type(error) is OSError and str(error).startswith("Timed out trying to connect")
    return type(error) is ConnectionError or is_unanswered or is_connection_lost(error)


@contextmanager
def local_cluster(distributed: Any, address: str) -> Iterator[Any]:
    """A client of processes on this machine, one for each processor, which end with the command."""
    with ExitStack() as opened:
        with undisturbed():
            cluster = distributed.LocalCluster(
                processes=True,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # for this machine only, at any free port
                silence_logs=logging.CRITICAL,
            )
            opened.callback(cluster.close)
            client = distributed.Client(cluster)
            opened.callback(client.close)
        yield client


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C while processes start, which inherit that: the command ends them itself.

    Half-started ones could not be ended, and each would complain at length.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def running_cluster(distributed: Any, address: str) -> Iterator[Any]:
    """A client of a scheduler that runs elsewhere."""
    try:
        # First without a client: one that cannot connect complains again when it is thrown away.
        asyncio.run(knock(address))
        client = distributed.Client(address, timeout=SECONDS_TO_ANSWER)
    # What answers there may be anything, with errors of any type.
    except Exception as error:
        raise Failure(
            f"no Dask scheduler answers at {address!r} within {SECONDS_TO_ANSWER} seconds; check "
            "the address (such as tcp://10.0.0.1:8786), start one with `dask scheduler`, or pass "
            "--scheduler local for processes of this machine."
        ) from error
    try:
        yield client
    finally:
        with suppress(Exception):  # of a scheduler that is gone already
            client.close()


async def knock(address: str) -> None:
    """Connect, and take leave."""
    comm = import_extra("distributed.comm", NEEDS, "dask")
    # What Dask's configuration says of keys and certificates, as a client does: tls:// needs them.
    security = import_extra("distributed", NEEDS, "dask").Security()
    arguments = security.get_connection_args("client")
    connection = await comm.connect(address, timeout=SECONDS_TO_ANSWER, **arguments)
    await connection.close()


def check_workers(client: Any, address: str) -> None:
    """There must be a worker, and branchwise on all of them and with the scheduler."""
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
    except TimeoutError as error:
        raise Failure(
            f"the Dask scheduler at {address} has no workers; start some: dask worker {address}."
        ) from error
    found = client.get_versions(packages=["branchwise"])
    # It reads the graph that it hands out, and so the functions of branchwise that are in it.
    its_version = found["scheduler"]["packages"].get("branchwise")
    if its_version != __version__:
        has = f"has branchwise {its_version}" if its_version else "lacks branchwise"
        raise Failure(
            f"the Dask scheduler at {address} {has}, but this command is branchwise {__version__}; "
            "install the same version there."
        )
    versions = {
        name: worker["packages"].get("branchwise") for name, worker in found["workers"].items()
    }
    wrong = {name: version for name, version in versions.items() if version != __version__}
    if wrong:
        have = sorted(
            {f"branchwise {version}" if version else "none" for version in wrong.values()}
        )
        raise Failure(
            f"{len(wrong)} of {len(versions)} workers lack branchwise {__version__} (they have "
            f"{listed(have)}): {listed(wrong, 3)}; install the same version on all of them."
        )


def showing_passes(work: dict[str, Any] | None) -> Callable[[str], Any]:
    """Contexts in which Dask's own bar shows each pass over the data, on a terminal.

    Iterations have a bar of their own, and a cluster has its dashboard.
    """
    if work is None or work["kind"] != "threads" or not sys.stderr.isatty():
        return lambda stage: nullcontext()
    diagnostics = import_extra("dask.diagnostics", NEEDS, "dask")

    def bar(stage: str) -> Any:
        if stage == "fit":
            return nullcontext()
        return diagnostics.ProgressBar(minimum=SECONDS_BEFORE_BAR, out=sys.stderr)

    return bar
