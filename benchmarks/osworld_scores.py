"""Times of scores: our metrics of documents beside those of the package desktop-env, on the same files.

``python -m benchmarks.osworld_scores --upstream PYTHON``, with an interpreter in which that package is installed,
prints medians of a few rounds, in milliseconds of processor time with child processes, turn by turn, and their ratio.
The tests have such an interpreter: ``.venvs/osworld-*/bin/python``.
"""

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import docx

from rlanything_verifiers.osworld import METRICS, File

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "while",
    "engineers",
    "measure",
    "how",
    "long",
    "documents",
    "take",
]

UPSTREAM = """
import json, sys, time, types
class Missing(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
for name in ("easyocr", "borb", "borb.pdf"):
    sys.modules[name] = Missing(name)
out, sys.stdout = sys.stdout, sys.stderr
import desktop_env.evaluators.metrics as metrics
for line in sys.stdin:
    name, path = json.loads(line)
    begin = time.process_time()
    getattr(metrics, name)(path, path)
    print(time.process_time() - begin, file=out, flush=True)
"""


def document(paragraphs: int) -> bytes:
    """A text document."""
    made, file = docx.Document(), io.BytesIO()
    for number in range(paragraphs):
        made.add_paragraph(" ".join(WORDS[(number * place) % len(WORDS)] for place in range(1, 71)))
    made.save(file)
    return file.getvalue()


def as_pdf(data: bytes, folder: Path) -> bytes | None:
    """The document as LibreOffice prints it; None without LibreOffice."""
    (folder / "a.docx").write_bytes(data)
    command = ["soffice", "--headless", "--convert-to", "pdf", "--outdir", str(folder), str(folder / "a.docx")]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        return None
    return (folder / "a.pdf").read_bytes()


def cpu() -> float:
    """Processor time of this process and the children that have ended, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def worker_cpu() -> float:
    """Processor time of the process that reads PDF files, with its ended children."""
    from rlanything_verifiers.osworld import pdf

    process = pdf._WORKER.process
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / 100


def ours(name: str, file: File) -> float:
    """Seconds of our metric."""
    begin = cpu() + worker_cpu()
    METRICS[name](file, file)
    return cpu() + worker_cpu() - begin


def row(name: str, one: list[float], other: list[float]) -> str:
    """A line of the table."""
    mine, theirs = median(one) * 1000, median(other) * 1000
    return f"{name:<22}{mine:>10.1f}{theirs:>14.1f}{mine / theirs:>9.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upstream", help="an interpreter with the package desktop-env")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--paragraphs", type=int, default=150)
    given = parser.parse_args()
    if not given.upstream:
        print("no --upstream: nothing to compare with")
        return
    with tempfile.TemporaryDirectory() as folder:
        text = document(given.paragraphs)
        files = {"compare_docx_files": ("a.docx", text), "compare_pdfs": ("a.pdf", as_pdf(text, Path(folder)))}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([given.upstream, "-c", UPSTREAM], text=True, **pipes) as other:
            print(f"{'ms of processor time':<22}{'ours':>10}{'desktop-env':>14}{'ratio':>9}")
            for name, (file_name, data) in files.items():
                if data is None:
                    print(f"{name:<22}no LibreOffice to print a document with")
                    continue
                path = Path(folder, file_name)
                path.write_bytes(data)
                one, others = partial(ours, name, File(file_name, data)), partial(theirs, other, name, str(path))
                print(row(name, *compared(given.rounds, one, others)))


def theirs(other: subprocess.Popen[str], name: str, path: str) -> float:
    """Seconds of OSWorld's metric."""
    assert other.stdin is not None
    assert other.stdout is not None
    other.stdin.write(json.dumps([name, path]) + "\n")
    other.stdin.flush()
    return float(other.stdout.readline())


def compared(rounds: int, one: Callable[[], float], other: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Times of two, turn by turn, after one turn that does not count."""
    one(), other()
    pairs = [(one(), other()) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


if __name__ == "__main__":
    sys.exit(main())
