"""The way in: which command, and what its end means to the shell."""

import importlib
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._messages import for_command_line
from .arguments import OWN, REPRODUCE, build_parser, find_plugins
from .console import Console, Failure, Usage

# `kill` and a closed terminal end a command as Ctrl-C does, unless nohup or the shell forbid it.
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code.

    0 is done, 1 failed (one line on standard error says why), 2 wrong usage; 130 and 143 stopped
    by Ctrl-C or a signal.

    Examples
    --------
    >>> from branchwise.cli import main
    >>> main(["completion", "fish"])
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    first = given[0] if given else ""
    commands = {command.name: command for command in OWN}
    try:
        # Looked for only where one may be meant, so that everything else starts at once.
        plugins = [] if first in {"--version", *commands} else find_plugins()
        commands |= {command.name: command for command in plugins}
        if commands.get(first) is REPRODUCE:
            from .._compat import install_command

            command = install_command(folder="./paper")
            raise Usage(f"this command comes with branchwise-paper; run: {command}.")
        options = build_parser(plugins).parse_args(given)
    except Usage as error:
        return Console(first if first in commands else "", is_json="--json" in given).fail(error, 2)
    options.line = shlex.join(["branchwise", *given])  # for the record
    console = Console(options.command, is_json=options.json, is_debug=options.debug)
    before = _listen(console.stops)
    try:
        with console.warnings(), for_command_line(), _without_swallowed(console.stops):
            if options.command != "completion":
                require(options.command)
            run = commands[options.command].run
            if run is None:  # imported now, so that help comes at once
                run = importlib.import_module(f".{options.command}", __package__).run
            run(options, console)
        sys.stdout.flush()  # here, where a full disk or a closed pipe is still understood
    except Usage as error:
        return console.fail(error, 2)
    except BrokenPipeError:
        # Whoever read our output has enough of it: `branchwise transform ... | head`.
        sys.stdout = None
        return 0
    except (Exception, KeyboardInterrupt) as error:
        # Whatever an interrupted library makes of it, the reason is the signal.
        if console.stops or isinstance(error, KeyboardInterrupt):
            number = console.stops[0] if console.stops else signal.SIGINT
            return console.fail(Failure(console.interrupted), 128 + number)
        if options.debug:
            raise
        return console.fail(error, 1)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


@contextmanager
def _without_swallowed(stops: list[int]) -> Iterator[None]:
    """Interrupts that compiled libraries swallow are not printed; `Console.progress` heeds them."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if not (stops and issubclass(unraisable.exc_type, KeyboardInterrupt)):
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def require(command: str) -> None:
    """The command line needs tables and pictures, which the core does without."""
    from .._compat import import_extra

    for name in ("pandas", "matplotlib", "networkx"):
        import_extra(name, f"branchwise {command}", "cli")


def _listen(stops: list[int]) -> dict[int, Any]:
    """Let each signal interrupt the command, and keep it; return what they did before."""

    def stop(number: int, frame: Any) -> None:
        stops.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in STOPPING if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) not in {signal.SIG_IGN, None}]
    try:
        return {number: signal.signal(number, stop) for number in heard}
    except ValueError:  # only the main thread may; another one is stopped by its program
        return {}
