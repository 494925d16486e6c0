"""The checker ``validator``: an output validator in C++."""

from dataclasses import dataclass
from typing import Any, ClassVar

from rlanything_verifiers.coding.errors import CheckerError
from rlanything_verifiers.coding.language import Language
from rlanything_verifiers.coding.sandbox import Run

from .program import ProgramChecker

_ACCEPTED, _WRONG = 42, 43  # exit codes of an output validator in the problem package format


@dataclass(frozen=True, slots=True)
class Validator(ProgramChecker):
    """A C++ program that decides as an output validator of the problem package format, run in the sandbox.

    Its arguments are the names of the input, of the judge's answer and of a folder for feedback, then `flags`; standard
    input is the output to judge. Exit code 42 accepts, 43 refuses; ``judgemessage.txt`` in the folder holds the reason.

    A program in the sandbox has no files. The three are in memory: ``std::ifstream``, ``std::ofstream`` and ``fopen``
    find them by their names, ``std::fstream`` and ``open`` do not.

    An output on which it crashes or is too slow is wrong (WA), provided that it decides on the expected output; else,
    and where it does not compile, the validator is broken: IE.

    Raises:
        CheckerError: The source is not a text, or blank, or the flags are not texts.
    """

    kind: ClassVar[str] = "validator"
    language: ClassVar[Language] = "cpp"

    source: str
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ProgramChecker.__post_init__(self)  # not super(): `slots` makes the class a second time
        if not isinstance(self.flags, list | tuple) or not all(isinstance(flag, str) for flag in self.flags):
            raise CheckerError(f"checker validator: flags must be a list of texts, got {self.flags!r:.80}")
        object.__setattr__(self, "flags", tuple(self.flags))

    def to_dict(self) -> dict[str, Any]:
        """The checker as a JSON object."""
        return {"kind": self.kind, "source": self.source, **({"flags": list(self.flags)} if self.flags else {})}

    def program(self) -> bytes:
        """The source of the program, between the code of its files and the code that starts it."""
        flags = "".join(f"{_literal(flag)}, " for flag in self.flags)
        before = _BEFORE.replace("FLAGS", flags).encode()
        return before + self.source.encode(errors="surrogatepass") + _AFTER.encode()

    def question(self, stdin: str, expected: str, actual: bytes) -> bytes:
        """Standard input: the sizes of input and answer in bytes, both texts, then the output."""
        given, answer = stdin.encode(), expected.encode()
        return b"".join((f"{len(given)} {len(answer)}\n".encode(), given, answer, actual))

    def finding(self, run: Run) -> tuple[bool, str] | None:
        """The verdict of the exit code, and the reason; None for another exit code."""
        if run.status != "RE" or run.exit_code not in (_ACCEPTED, _WRONG):
            return None
        return run.exit_code == _ACCEPTED, run.stdout.decode(errors="replace").strip()

    def undecided(self, run: Run) -> str:
        """Its exit code."""
        return f"exit code {run.exit_code}, not {_ACCEPTED} or {_WRONG}"


def _literal(text: str) -> str:
    """A C++ literal of any text."""
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode(errors="surrogatepass")) + '"'


_BEFORE = r"""
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace in_memory {

// Not <unistd.h>: its names would be global, where a validator may have its own.
extern "C" {
long read(int, void*, unsigned long);
long write(int, const void*, unsigned long);
int dup(int) noexcept;
int dup2(int, int) noexcept;
}

struct Files {
    std::map<std::string, std::string> given, notes;
    int message = 1;

    std::string* find(const std::string& name) {
        auto found = given.find(name);
        if (found != given.end()) return &found->second;
        found = notes.find(name.substr(name.rfind('/') + 1));
        return found != notes.end() ? &found->second : nullptr;
    }

    std::string& note(const std::string& name, bool append) {
        std::string& text = notes[name.substr(name.rfind('/') + 1)];
        if (!append) text.clear();
        return text;
    }
};

inline Files& files() {
    static Files* all = new Files;  // there until the very end
    return *all;
}

struct Note : std::streambuf {
    std::string* text = nullptr;

    int_type overflow(int_type c) override {
        if (!text) return traits_type::eof();
        if (c != traits_type::eof()) text->push_back(char(c));
        return traits_type::not_eof(c);
    }

    std::streamsize xsputn(const char* data, std::streamsize size) override {
        if (!text) return 0;
        text->append(data, size);
        return size;
    }
};

inline ssize_t append(void* note, const char* data, size_t size) {
    static_cast<std::string*>(note)->append(data, size);
    return ssize_t(size);
}

inline std::FILE* open(const char* name, const char* mode) {
    if (*mode != 'r') {
        cookie_io_functions_t calls = {nullptr, append, nullptr, nullptr};
        return fopencookie(&files().note(name, *mode == 'a'), "w", calls);
    }
    std::string* text = files().find(name);
    if (!text) {
        errno = ENOENT;
        return nullptr;
    }
    return fmemopen(&(*text)[0], text->size(), "r");
}

inline void report() {
    std::fflush(nullptr);
    const std::string& text = files().notes["judgemessage.txt"];
    write(files().message, text.data(), text.size() < 300 ? text.size() : 300);
}

inline std::string take(size_t size) {
    std::string text(size, '\0');
    for (size_t done = 0; done < size;) {
        long more = read(0, &text[done], size - done);
        if (more <= 0) std::abort();
        done += more;
    }
    return text;
}

inline size_t number() {
    size_t value = 0;
    for (char c = take(1)[0]; c != ' ' && c != '\n'; c = take(1)[0]) value = 10 * value + (c - '0');
    return value;
}

inline std::vector<char*> prepare() {
    static const char* words[] = {"validator", "input", "answer", "./", FLAGS nullptr};
    size_t input = number(), answer = number();
    files().given["input"] = take(input);
    files().given["answer"] = take(answer);
    files().message = dup(1);
    dup2(2, 1);  // what it prints is no message
    std::atexit(report);
    std::vector<char*> copies;
    for (const char* word : words) copies.push_back(const_cast<char*>(word));
    return copies;
}

template <class Result>
int start(Result (*run)()) {
    prepare();
    return run();
}

template <class Result, class Count, class Words>
int start(Result (*run)(Count, Words**)) {
    static std::vector<char*> words = prepare();
    return run(Count(words.size() - 1), const_cast<Words**>(words.data()));
}

}  // namespace in_memory

// The C++ library and the validator both find these, before those of the C library.
extern "C" std::FILE* fopen(const char* name, const char* mode) { return in_memory::open(name, mode); }
extern "C" std::FILE* fopen64(const char* name, const char* mode) { return in_memory::open(name, mode); }

namespace std {

class in_memory_ifstream : public istream {
    stringbuf text_;
    bool open_ = false;

public:
    in_memory_ifstream() : istream(nullptr) { rdbuf(&text_); }
    explicit in_memory_ifstream(const string& name, openmode mode = in) : in_memory_ifstream() { open(name, mode); }
    using istream::rdbuf;
    bool is_open() const { return open_; }

    void open(const string& name, openmode = in) {
        string* text = open_ ? nullptr : in_memory::files().find(name);
        if (!text) return setstate(failbit);
        text_.str(*text);
        open_ = true;
        clear();
    }

    void close() {
        if (!open_) setstate(failbit);
        text_.str("");
        open_ = false;
    }
};

class in_memory_ofstream : public ostream {
    in_memory::Note note_;

public:
    in_memory_ofstream() : ostream(nullptr) { rdbuf(&note_); }
    explicit in_memory_ofstream(const string& name, openmode mode = out) : in_memory_ofstream() { open(name, mode); }
    bool is_open() const { return note_.text; }

    void open(const string& name, openmode mode = out) {
        if (note_.text) return setstate(failbit);
        note_.text = &in_memory::files().note(name, mode & app);
        clear();
    }

    void close() {
        if (!note_.text) setstate(failbit);
        note_.text = nullptr;
    }
};

}  // namespace std

#define ifstream in_memory_ifstream
#define ofstream in_memory_ofstream
#define main validator_main
#line 1 "validator.cpp"
"""

_AFTER = """
#undef main
signed main() { return in_memory::start(validator_main); }
"""
