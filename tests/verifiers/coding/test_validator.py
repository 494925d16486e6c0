"""Output validators in C++: what they read and write without files, and whose fault it is when they fail."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_verifiers.coding import Job, MissingLanguage, judge, judge_many
from rlanything_verifiers.coding.checkers.validator import Validator, _literal
from rlanything_verifiers.coding.sandbox import toolchain

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)


@pytest.fixture(scope="module")
def _compiler() -> None:
    try:
        toolchain.toolchain()
    except MissingLanguage as error:
        pytest.skip(str(error))


SOURCE = r"""
#include <sys/stat.h>
#include <unistd.h>
#include <fstream>
#include <iostream>
#include <string>
using namespace std;
#define int long long

ofstream note;
signed read(string& word) { return bool(cin >> word); }  // a name of the C library

signed main(signed argc, const char** argv) {
    if (argc != 5 || string(argv[4]) != "a \"\\ü") return 1;
    struct stat entry;
    if (stat(argv[3], &entry) || !S_ISDIR(entry.st_mode)) return 2;
    ifstream in(argv[1]), none("none");
    if (!in.is_open() || none || fopen("none", "r")) return 3;
    string first, second, line;
    getline(in, first);
    getline(in, second);
    if (!in || getline(in, line) || second.size() != 100000) return 4;
    in.clear();
    in.seekg(0);
    if (!getline(in, line) || line != first) return 5;
    FILE* file = fopen(argv[2], "r");
    int answer;
    if (!file || fscanf(file, "%lld", &answer) != 1 || fclose(file)) return 6;
    cout << "AC" << endl;  // nobody reads it
    string word, more;
    read(word);
    if (word == "abort") abort();
    if (word == "throw") throw 3;
    if (word == "nothing") return 0;
    if (word == "exit") { cerr << "AC"; _exit(42); }
    note.open(string(argv[3]) + "/judgemessage.txt");
    note << first << ", not " << word;
    file = fopen((string(argv[3]) + "judgemessage.txt").c_str(), "a");
    fprintf(file, "!");
    return word == to_string(answer) && !(cin >> more) ? 42 : 43;
}
"""
CHECKER = {"kind": "validator", "source": SOURCE, "flags": ['a "\\ü']}
FAILS = "the checker fails on this output"
TESTS = [("seven\n" + "x" * 100_000 + "\n", "7\n")]


@pytest.mark.usefixtures("_compiler")
def test_a_validator_has_its_files_and_decides() -> None:
    expected = {
        "7": ("AC", "seven, not 7!"),
        "8": ("WA", "seven, not 8!"),
        "7 8": ("WA", "seven, not 7!"),
        "": ("WA", "seven, not !"),
        "exit": ("AC", ""),
        "abort": ("WA", f"{FAILS} (RE): AC"),
        "throw": (
            "WA",
            "the checker fails on this output (RE): AC\nterminate called after throwing an instance of 'int'",
        ),
        "nothing": ("WA", f"{FAILS} (OK): exit code 0, not 42 or 43"),
    }
    judged = judge_many([Job(f"print({word!r})", TESTS, CHECKER) for word in expected])
    assert [(found.verdicts[0], found.details[0]) for found in judged] == list(expected.values())


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize(
    ("source", "detail"),
    [
        ("int main() { return 0; }", "the checker failed (OK): exit code 0, not 42 or 43"),
        ("#include <none.h>\nint main() {}", "the checker failed (CE): validator.cpp:1:10: fatal error: none.h"),
    ],
)
def test_a_validator_that_never_decides_is_broken(source: str, detail: str) -> None:
    judgement = judge("print(7)", TESTS, checker={"kind": "validator", "source": source})
    assert (judgement.verdicts, judgement.outcome) == (("IE",), None)
    assert judgement.details[0].startswith(detail)


@settings(max_examples=30)
@given(st.text(max_size=20))
def test_any_flag_is_a_literal(flag: str) -> None:
    literal = _literal(flag)
    assert literal.isascii()
    encoded = flag.encode(errors="surrogatepass")
    assert bytes(int(digits, 8) for digits in literal[1:-1].split("\\")[1:]) == encoded


@settings(max_examples=30)
@given(st.text(), st.text(), st.binary())
def test_a_question_can_be_taken_apart(stdin: str, expected: str, actual: bytes) -> None:
    question = Validator("int main() {}").question(stdin, expected, actual)
    head, _, rest = question.partition(b"\n")
    size, answer = map(int, head.split())
    assert (rest[:size].decode(), rest[size : size + answer].decode(), rest[size + answer :]) == (
        stdin,
        expected,
        actual,
    )
