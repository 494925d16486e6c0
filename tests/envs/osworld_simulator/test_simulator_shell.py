"""The shell does what bash does, says no to the rest, and never falls over."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlanything_envs.osworld.desktop.simulator.files import Disk
from rlanything_envs.osworld.desktop.simulator.screen import ProgramError
from rlanything_envs.osworld.desktop.simulator.shell import Shell

FILES = {
    "fruit.txt": "pear\napple\nfig\napple\n",
    "numbers.txt": "10\n9\n-3\n100\n9\n",
    "table.csv": "name,qty,town\nzoe,3,bern\nadam,12,oslo\nmia,7,rome\n",
    "notes/a.txt": "alpha\nBeta error\n",
    "notes/b.md": "gamma ERROR 5\n",
    "with space.txt": "one\n",
    "open.txt": "no end of line",
}

SCRIPTS = [
    "ls",
    "ls -1 notes",
    "ls *.txt notes",
    "ls nothing",
    "cat fruit.txt numbers.txt",
    "cat < fruit.txt",
    "cat 'with space.txt'",
    "cat with\\ space.txt",
    'name=fruit; cat "$name.txt"; echo "$name" \'$name\' ${name}s',
    "sort fruit.txt",
    "sort -r fruit.txt | head -n 2",
    "sort -n numbers.txt",
    "sort -nr numbers.txt | head -1",
    "sort -u fruit.txt",
    "sort fruit.txt | uniq -c | sort -rn",
    "sort -t , -k 2 -n table.csv",
    "uniq fruit.txt",
    "wc -l fruit.txt",
    "wc -l < fruit.txt",
    "wc fruit.txt numbers.txt",
    "wc -w notes/b.md",
    "cat fruit.txt | wc -c",
    "cat open.txt | wc -l",
    "grep apple fruit.txt",
    "grep -c apple fruit.txt",
    "grep -in error notes/a.txt notes/b.md",
    "grep -v apple fruit.txt",
    "grep -r error notes | sort",
    "grep '^a' fruit.txt",
    "grep -E 'pear|fig' fruit.txt",
    "grep -E '^[a-f]+$' fruit.txt",
    "grep 'p*le$' fruit.txt",
    "grep -x 9 numbers.txt",
    "grep -q nothing fruit.txt || echo missing",
    "grep nothing fruit.txt && echo found; echo $?",
    "cut -d , -f 2 table.csv",
    "cut -d, -f1,3 table.csv | tail -n +2",
    "head -n -1 fruit.txt",
    "head -2 numbers.txt",
    "tail -n 2 open.txt",
    "tail -1 open.txt",
    "tac fruit.txt",
    "tr a-z A-Z < fruit.txt",
    "tr -d p < fruit.txt",
    "echo one > x; echo two >> x; cat x",
    "echo -n a; echo b",
    "echo 'a  b'   c",
    "printf '%s-%s\\n' a b c d",
    "printf 'x\\ty\\n'",
    "mkdir -p a/b/c && ls a/b",
    "mkdir notes",
    "mkdir new && cp fruit.txt new && ls new",
    "cp -r notes copy; ls copy; cat copy/a.txt",
    "cp notes copy",
    "mv fruit.txt notes; ls notes; ls",
    "mv fruit.txt veg.txt && cat veg.txt",
    "mv a.txt b.txt",
    "rm fruit.txt; ls *.txt",
    "rm notes",
    "rm -r notes; ls",
    "rm -f nothing; echo $?",
    "rmdir notes",
    "touch z; ls z; wc -c z",
    "cd notes && pwd | tail -c 7; cat ../fruit.txt",
    "cd nowhere",
    "chmod 600 fruit.txt; ls -l fruit.txt | cut -c 1-10",
    "chmod u+x,go-r fruit.txt; ls -l fruit.txt | cut -c 1-10",
    "false && echo no; true && echo yes",
    "false || echo yes",
    "echo a # b",
    "cat nothing 2>/dev/null; echo $?",
    "cat nothing > out.txt 2>&1; cat out.txt",
    "ls nothing fruit.txt > out.txt; cat out.txt",
    "echo *.nothing; echo '*'; echo \"*.txt\" | cat",
    "echo notes/*",
    "echo [a-g]*.txt",
    "test -f fruit.txt && [ -d notes ] && [ ! -e z ] && echo good",
    "basename notes/a.txt; dirname notes/a.txt",
    "find . -name '*.txt' | sort",
    "find notes -type f | sort",
    "nosuchprogram",
    "mv 2>&1",
    "echo a > notes/",
    "echo a >> nothing/x",
    "mv -c 2>&1",
    "mv fruit.txt 2>&1",
    "mkdir 2>&1; rm 2>&1; touch 2>&1; cp -q a b 2>&1",
    "chmod 2>&1; chmod 700 2>&1; chmod zz fruit.txt 2>&1",
    "grep 2>&1",
    "grep -e 2>&1; grep -? a fruit.txt 2>&1",
    "ls -? 2>&1",
    "sort -! 2>&1",
    "wc -% fruit.txt 2>&1; head -n 2>&1; cut a 2>&1",
    "echo hi | tee copy.txt; cat copy.txt",
    "echo a;",
    "echo a && && echo b",
    "echo 'open",
]


def simulated() -> Shell:
    disk = Disk()
    for name, text in FILES.items():
        disk.write(f"/home/user/work/{name}", text.encode(), parents=True)

    def launch(words: list[str], folder: str) -> None:
        raise ProgramError(f"no program {words[0]}", 127)

    return Shell(disk, launch, folder="/home/user/work")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("script", SCRIPTS)
def test_like_bash(script: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    command = ["bash", "-c", f"umask 022\n{script}"]
    real = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    shell = simulated()
    done = shell.run(script)
    assert (done.output, done.returncode) == (real.stdout, real.returncode), (done, real)
    assert bool(done.error) == bool(real.stderr), (done.error, real.stderr)
    files = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    paths = [path for path in shell.disk.walk("/home/user/work") if shell.disk.is_file(path)]
    assert {path.removeprefix("/home/user/work/"): shell.disk.read(path).decode() for path in paths} == files


@pytest.mark.parametrize(
    ("target", "reason"),
    [("notes/", "Is a directory"), ("~/work/notes", "Is a directory"), ("nothing/x", "No such file or directory")],
)
def test_a_target_that_is_no_file_is_named_as_bash_does(target: str, reason: str) -> None:
    """As it was typed, but for the home directory."""
    named = target.replace("~", "/home/user")
    assert simulated().run(f"echo a > {target}").error == f"bash: {named}: {reason}\n"


@pytest.mark.parametrize(
    "script",
    ["for i in 1 2; do echo $i; done", "echo $(ls)", "echo `ls`", "(ls)", "cat << END\nx\nEND", "sed s/a/b/ f"],
)
def test_what_it_has_not_is_said(script: str) -> None:
    done = simulated().run(script)
    assert done.returncode == 127
    assert done.error.startswith("bash: ")


@given(st.text(max_size=60))
@example("cat < /")
@example("> /home")
@example("echo \ud800 > x")
@example("mv . ..")
@example("rm -rf /")
@example("cp -r / x")
@example("[")
@example("head -n")
@example("cut -f 0 -d '' x")
@example("tr a-")
@example("chmod 9 .")
@example("find . -name '[' -type")
def test_any_text(line: str) -> None:
    done = simulated().run(line)
    assert isinstance(done.output, str)
    done.output.encode()
    done.error.encode()


WORDS = [
    "*",
    "..",
    "/",
    "~",
    "-r",
    "-n",
    "-f",
    "'a b'",
    "fruit.txt",
    "notes",
    "x",
    "|",
    ">",
    ">>",
    "&&",
    ";",
    "-k",
    "3",
]
NAMES = [
    "ls",
    "cat",
    "mv",
    "cp",
    "rm",
    "mkdir",
    "sort",
    "head",
    "tail",
    "cut",
    "grep",
    "wc",
    "echo",
    "cd",
    "find",
    "tee",
]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(WORDS), max_size=4)), max_size=4))
def test_any_commands(commands: list[tuple[str, list[str]]]) -> None:
    shell = simulated()
    shell.run("; ".join(" ".join([name, *words]) for name, words in commands))
    assert shell.disk.is_folder("/")


def test_the_disk_cannot_be_filled() -> None:
    shell = simulated()
    shell.run("printf '%s' " + "x" * 10_000 + " > a")
    for _ in range(40):
        done = shell.run("cat a a > b; cat b b > a")
    assert "No space left" in done.error or "too long" in done.error
    assert len(shell.disk.read("/home/user/work/a")) <= 1 << 20


def test_a_folder_full_of_copies_ends() -> None:
    shell = simulated()
    for i in range(30):
        done = shell.run(f"mkdir -p t{i}; cp -r notes t{i}; cp -r t* /tmp")
    assert done.returncode in (0, 1)
    for i in range(20):
        done = shell.run(f"mkdir /tmp/r{i}; cp -r /home/user /tmp/r{i}; cp -r /tmp/r{i} /home/user/r{i}")
    assert "No space left" in done.error or "too long" in done.error


@pytest.mark.parametrize("pattern", ["a*a*a*a*a*a*a*a*b", "(a+)+$", "[a-z]*[a-z]*[a-z]*9"])
def test_no_pattern_takes_long(pattern: str) -> None:
    shell = simulated()
    shell.disk.write("/home/user/work/long", b"a" * 20_000)
    done = shell.run(f"grep -E '{pattern}' long")
    assert done.returncode in (1, 2)
