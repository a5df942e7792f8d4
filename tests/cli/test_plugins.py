"""Commands that other packages bring, by entry points."""

import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points

import pytest

from branchwise.cli import main
from branchwise.cli.arguments import Command

GROUP = "branchwise.commands"


def add(parser):
    parser.add_argument("word", metavar="WORD")
    parser.add_argument("--loud", action="store_true", help="in capitals")


def run(options, console):
    word = options.word.upper() if options.loud else options.word
    console.result({"word": word}, f"{console.command}: {word}")


HELLO = Command("hello", add, "WORD", "say a word", "Say a word.", "example:\n  ...", run)


@pytest.fixture
def installed(monkeypatch):
    """Only these commands are installed."""

    def install(*entries):
        def instead(**wanted):  # of other groups, those that there are
            return entries if wanted == {"group": GROUP} else entry_points(**wanted)

        monkeypatch.setattr("importlib.metadata.entry_points", instead)

    return install


def hello():
    return EntryPoint("hello", f"{__name__}:HELLO", GROUP)


def test_an_installed_command_is_run_with_its_options(installed, branchwise):
    installed(hello())
    assert branchwise("hello", "world", "--loud") == (0, "hello: WORLD\n", "")
    code, out, err = branchwise("hello", "--louder")
    assert (code, out) == (2, "")
    assert err.startswith("branchwise hello: ")


def test_installed_commands_are_in_the_help_and_completed(installed, branchwise, capsys):
    installed(hello())
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "say a word" in capsys.readouterr().out
    _, script, _ = branchwise("completion", "bash")
    assert "--loud" in script


@pytest.mark.parametrize("given", [["table1", "--quick"], ["--quick", "table1"], ["--help"], []])
def test_without_its_package_reproduce_says_how_to_get_it(installed, branchwise, given):
    installed()
    code, out, err = branchwise("reproduce", *given)
    assert (code, out) == (2, "")
    assert err == (
        "branchwise reproduce: this command comes with branchwise-paper; run: pip install ./paper "
        "in a clone of branchwise.\n"
    )


def test_without_its_package_reproduce_is_named_in_the_help(installed, capsys):
    installed()
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "the paper's table and figures (with branchwise-paper)" in capsys.readouterr().out


def test_a_command_that_cannot_be_loaded_is_told_in_one_sentence(installed, branchwise):
    installed(EntryPoint("hello", "no_such_package:COMMAND", GROUP))
    code, out, err = branchwise("hello", "world")
    assert (code, out) == (2, "")
    assert err == (
        "branchwise: the command hello is installed but cannot be loaded (No module named "
        "'no_such_package'); install its package again, or remove it.\n"
    )
    assert branchwise("completion", "bash")[0] == 2


def test_nothing_is_looked_for_where_no_plug_in_can_be_meant():
    code = "import sys; from branchwise.cli import main\n"
    code += "try: main(['--version'])\nexcept SystemExit: pass\n"
    code += "print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"
