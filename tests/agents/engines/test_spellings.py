"""Ids that spell a form: sets worked out by hand, and brute force for random vocabularies and forms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_choices_ids import FORMS, texts_of
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from rlanything_agents.engines.spellings import Spellings, token_bytes
from rlanything_envs.llm.choices import Form, OneOf, Prose, Repeat, Then

END, OTHER_END, MARK = 0, 1, 2


def spelled(pieces: Sequence[str]) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with two ends, a mark and these pieces."""
    table = bytes_to_unicode()
    names = ["<end>", "<other>", "<mark>", *("".join(table[byte] for byte in piece.encode()) for piece in pieces)]
    tokenizer = Tokenizer(models.BPE({name: at for at, name in enumerate(names)}, []))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<end>", "<other>", "<mark>"])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")


def named(spellings: Spellings, form: Form, tokenizer: PreTrainedTokenizerFast, *way: str) -> list[set[str]]:
    """Pieces that are allowed at each piece of an answer, blanks as they are."""
    ids = [tokenizer.convert_tokens_to_ids(piece.replace(" ", "\u0120")) for piece in way]
    sets = spellings.allowed(form, ids)
    return [{name.replace("\u0120", " ") for name in tokenizer.convert_ids_to_tokens(list(one))} for one in sets]


BED = ["go", " to", " bed", "go to", " ", "bed", "g", "o", " b", "ed", "look", " car", "got"]


def test_go_to_bed_is_spelled_in_several_ways() -> None:
    tokenizer = spelled(BED)
    forms, form = Spellings(tokenizer, {END}), OneOf(("go to bed", "go to car", "look"))
    first = {"go", "go to", "g", "look"}
    ways = {
        ("go", " to", " bed", "<end>"): [first, {" to", " "}, {" bed", " ", " b", " car"}, {"<end>"}],
        ("go to", " ", "bed", "<end>"): [first, {" bed", " ", " b", " car"}, {"bed"}, {"<end>"}],
        ("g", "o", " to", " b", "ed", "<end>"): [
            first, {"o"}, {" to", " "}, {" bed", " ", " b", " car"}, {"ed"}, {"<end>"},
        ],
    }  # fmt: skip
    for way, sets in ways.items():
        assert named(forms, form, tokenizer, *way) == sets
    unknown = named(forms, form, tokenizer, "go", "look", "<end>")
    assert unknown == [first, set(), set()], "the set of an id outside of the form is unknown, and all that follow"
    assert named(forms, form, tokenizer, "<end>") == [set()]


def test_ends_are_allowed_where_a_form_may_end_and_nowhere_else() -> None:
    tokenizer = spelled(["a", "aa", "<", "m", ">", "end"])
    forms = Spellings(tokenizer, {END, OTHER_END})
    form = Then(("a", Repeat("a", 0, 2)))
    assert named(forms, form, tokenizer, "a", "a", "a", "<end>") == [
        {"a", "aa"}, {"a", "aa", "<end>", "<other>"}, {"a", "<end>", "<other>"}, {"<end>", "<other>"},
    ]  # fmt: skip
    assert named(forms, "<end>", tokenizer, "<", "end") == [{"<"}, {"end"}], "an end is no text"
    assert named(forms, "<mark>", tokenizer, "<mark>", "<end>") == [{"<mark>", "<"}, {"<end>", "<other>"}]


def test_free_text_allows_what_fits_in_and_what_leads_out_of_it() -> None:
    tokenizer = spelled(["a", "ab", "abc", 'b"', '"', '"!', "é", "\n", "!"])
    forms = Spellings(tokenizer, {END})
    form = Then((Prose(3, '\n"'), '"!'))
    assert named(forms, form, tokenizer, "ab", "a", '"', "!", "<end>") == [
        {"a", "ab", "abc", 'b"', '"', '"!', "!"}, {"a", 'b"', '"', '"!', "!"}, {'"', '"!'}, {"!"}, {"<end>"},
    ]  # fmt: skip
    begun = Then((Prose(3, '\n"', begun=True), '"!'))
    assert named(forms, begun, tokenizer, "ab", "a", '"!', "<end>") == [
        {"a", "ab", "abc", 'b"', "!"}, {"a", 'b"', '"', '"!', "!"}, {'"', '"!'}, {"<end>"},
    ]  # fmt: skip
    assert forms.allowed(Prose(40), [3])[0] is forms.allowed(Prose(40), [3] * 9)[8], "one set far from the end"


def test_bytes_of_characters_are_followed_one_by_one() -> None:
    tokenizer = spelled(["caf", "é"])
    table = bytes_to_unicode()
    names = ["<end>", *sorted({table[byte] for byte in "éè".encode()})]
    made = Tokenizer(models.BPE({name: at for at, name in enumerate(names)}, []))
    made.decoder = decoders.ByteLevel()
    pairs = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>")
    first, e, grave = (pairs.convert_tokens_to_ids(table[byte]) for byte in (0xC3, 0xA9, 0xA8))
    assert Spellings(pairs, {0}).allowed(OneOf(("é", "è")), [first, e, 0]) == [
        (first,),
        tuple(sorted((e, grave))),
        (0,),
    ]
    assert Spellings(tokenizer, {END}).allowed("café", [3, 4, END]) == [(3,), (4,), (END,)]


def test_bytes_of_ids_by_the_kind_of_decoder() -> None:
    names = {name: at for at, name in enumerate(["<end>", "\u2581go", "<0x0A>", "é"])}
    made = Tokenizer(models.BPE(names, []))
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    assert token_bytes(PreTrainedTokenizerFast(tokenizer_object=made)) == [b"<end>", b" go", b"\n", "é".encode()]
    words = Tokenizer(models.WordLevel(names, unk_token="<end>"))
    assert token_bytes(PreTrainedTokenizerFast(tokenizer_object=words))[1] == "\u2581go".encode()
    assert token_bytes(spelled(["go", "é "])) == [b"<end>", b"<other>", b"<mark>", b"go", "é ".encode()]


PIECES = st.lists(st.text("gotaple 12é", min_size=1, max_size=4), min_size=1, max_size=12, unique=True)


@settings(max_examples=200)
@given(form=FORMS, prose=st.sampled_from(["", "free", "begun"]), pieces=PIECES, data=st.data())
def test_sets_equal_brute_force(form: Form, prose: str, pieces: list[str], data: st.DataObject) -> None:
    """An id is allowed if what is written with it begins one of all texts of the form."""
    texts = {"".join(parts).encode() for parts in texts_of(form)}
    if prose:
        without = "".join(map(chr, range(32, 127))).translate({ord(c): None for c in "go1"})
        form = Then((form, Prose(2, without, begun=prose == "begun")))
        free = [*([""] if prose == "free" else []), *"go1", *(a + b for a in "go1" for b in "go1")]
        texts = {text + more.encode() for text in texts for more in free}
    tokenizer = spelled(pieces)
    forms = Spellings(tokenizer, {END, OTHER_END})
    ids, written = list[int](), b""
    for _ in range(8):
        expected = {at for at, text in enumerate(forms.texts) if text and _begins(written + text, texts)}
        expected |= {END, OTHER_END} if written in texts else set()
        if not expected:
            break
        ids.append(data.draw(st.sampled_from(sorted(expected))))
        assert forms.allowed(form, ids)[-1] == tuple(sorted(expected))
        wrong = next((at for at in range(len(tokenizer)) if at not in expected), None)
        if wrong is not None:
            assert forms.allowed(form, [*ids[:-1], wrong])[-1] == ()
        if ids[-1] in (END, OTHER_END):
            break
        written += forms.texts[ids[-1]]


def _begins(written: bytes, texts: set[bytes]) -> bool:
    return any(text.startswith(written) for text in texts)


@pytest.mark.parametrize("most", [3, 400])
def test_sets_of_long_free_text_are_few(most: int) -> None:
    tokenizer = spelled(["a", "b", "ab", '"', 'a"', "abab"])
    forms = Spellings(tokenizer, {END})
    ids = [3] * most
    sets = forms.allowed(Then((Prose(most), '"')), ids)
    assert len({id(one) for one in sets}) <= forms.longest + 1
