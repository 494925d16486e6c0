import pytest

from rlanything_verifiers.coding import LANGUAGES, TAGS, TITLES, JudgeError, check_language, find_tag


@pytest.mark.parametrize(
    ("tag", "title", "language"),
    [
        ("python", "Python", "python"),
        ("Python3", "Python", "python"),
        ("py", "Python", "python"),
        ("cpp", "C++", "cpp"),
        ("C++", "C++", "cpp"),
        ("c++17", "C++", "cpp"),
        ("cc", "C++", "cpp"),
        ("g++", "C++", "cpp"),
        ("c", "C", None),
        ("java", "Java", None),
        ("js", "JavaScript", None),
        ("rust", "Rust", None),
        ("python2", "Python 2", None),
    ],
)
def test_a_tag_means_a_language(tag: str, title: str, language: str | None) -> None:
    found = find_tag(tag)
    assert found is not None
    assert (found.title, found.language) == (title, language)


@pytest.mark.parametrize("tag", ["", "text", "input", "stdin", "json", "output", "diff"])
def test_other_tags_mean_no_language(tag: str) -> None:
    assert find_tag(tag) is None


def test_every_language_has_a_title_and_is_a_tag_itself() -> None:
    for language in LANGUAGES:
        tag = TAGS[language]
        assert (tag.language, tag.title) == (language, TITLES[language])
        assert check_language(language) == language


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(JudgeError, match="expected one of 'python', 'cpp', got 'java'"):
        check_language("java")
    with pytest.raises(JudgeError, match="got 'C\\+\\+'; write 'cpp'"):
        check_language("C++")
