"""Forms over token ids, and the engine that writes nothing else: against brute force, for tokenizers of both kinds."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_llama, random_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from rlanything_agents.engines import choices
from rlanything_agents.engines import transformers as engine
from rlanything_agents.engines.batching import shared_prefixes
from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.choices import FormTokens, Place
from rlanything_agents.engines.spellings import Spellings
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.reward_models.step_judge import parse_score
from rlanything_envs.llm.choices import PLAIN, Form, OneOf, Prose, Repeat, Then, fitted, matches
from rlanything_envs.llm.generator import Completion, SamplingParams
from rlanything_envs.llm.schema import form_of_schema

WORDS = ("go", "to", "cabinet", "find", "apple", "1", "2", "12")
TEXTS = (
    "go to ",
    "cabinet 1",
    "cabinet 2",
    "cabinet 12",
    "find ",
    "apple",
    ": ",
    "1",
    "12",
    "2 ",
    "",
    "ap",
    "ple",
    "é",
)
TURN = Then(
    (OneOf(("find ", "go ")), OneOf(("apple", "cabinet")), ": ", OneOf(("go to cabinet 1", "go to cabinet 12")))
)


def word_level() -> PreTrainedTokenizerFast:
    """One token a word; what is between them has none."""
    tokenizer = word_tokenizer(WORDS)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(":", "removed"), pre_tokenizers.WhitespaceSplit()]
    )
    return tokenizer


def byte_level() -> PreTrainedTokenizerFast:
    """Byte pairs that cross the borders of words and of the texts of a form."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<eos>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(["find apple: go to cabinet 12", "go to cabinet 1", "apple 2 "] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<eos>")


@cache
def make(kind: str) -> tuple[PreTrainedTokenizerFast, PreTrainedModel]:
    tokenizer = word_level() if kind == "words" else byte_level()
    if kind != "llama":
        return tokenizer, random_model(tokenizer)
    ends = {f"{end}_token_id": 0 for end in ("pad", "bos", "eos")}
    return tokenizer, random_llama(vocab_size=len(tokenizer), **ends)


def texts_of(form: Form) -> Iterator[tuple[str, ...]]:
    """Every way to write a form: its texts, one after the other."""
    if isinstance(form, str):
        yield (form,)
    elif isinstance(form, OneOf):
        for option in form.options:
            yield from texts_of(option)
    elif isinstance(form, Then):
        for parts in itertools.product(*map(list, map(texts_of, form.parts))):
            yield tuple(itertools.chain(*parts))
    else:
        once = list(texts_of(form.part))
        for count in range(form.least, form.most + 1):
            for parts in itertools.product(once, repeat=count):
                yield tuple(itertools.chain(*parts))


def written(form: Form, tokenizer: PreTrainedTokenizerFast) -> set[tuple[int, ...]]:
    """All token sequences that have a form, the end of sequence included."""
    ids = cache(lambda text: tuple(tokenizer.encode(text, add_special_tokens=False)))
    return {(*itertools.chain(*map(ids, texts)), tokenizer.eos_token_id) for texts in texts_of(form)}


def of_one(forms: st.SearchStrategy[Form]) -> st.SearchStrategy[Form]:
    several = st.lists(forms, min_size=1, max_size=3).map(tuple)
    repeats = st.tuples(forms.filter(lambda part: part != ""), st.integers(0, 2), st.integers(0, 2))
    return several.map(OneOf) | several.map(Then) | repeats.map(lambda r: Repeat(r[0], min(r[1:]), max(r[1:])))


FORMS = st.recursive(st.sampled_from(TEXTS), of_one, max_leaves=5)


@given(form=FORMS, kind=st.sampled_from(["words", "bytes"]))
def test_the_places_of_a_form_are_the_prefixes_of_what_can_be_written(form: Form, kind: str) -> None:
    tokenizer, _ = make(kind)
    ways = written(form, tokenizer)
    places: list[tuple[tuple[int, ...], Place]] = [((), FormTokens(tokenizer).start(form))]
    found = set()
    for ids, place in places:  # grows
        following = {way[len(ids)] for way in ways if way[: len(ids)] == ids and len(way) > len(ids)}
        assert place.allowed == tuple(sorted(following))
        if not place.allowed:
            found.add(ids)
            assert place.text is not None
            assert matches(form, place.text)
            if kind == "bytes":
                assert tokenizer.decode(ids[:-1]) == place.text
        places += [((*ids, token), place.after(token)) for token in place.allowed]
        assert len(places) < 20000
    assert found == ways


def test_repeats_that_may_be_nothing_stay_small() -> None:
    tokenizer, _ = make("words")
    form: Form = ": "  # no ids at all in a tokenizer of words
    for _ in range(3):
        form = Repeat(Then((OneOf((form, form)), form)), 0, 12)
    place = FormTokens(tokenizer).start(Then((form, "go ", form)))
    assert place.allowed == (tokenizer.convert_tokens_to_ids("go"),)
    assert place.after(place.allowed[0]).allowed == (tokenizer.eos_token_id,)


def test_equal_slots_share_what_is_allowed() -> None:
    forms = FormTokens(make("words")[0])
    one, other = (forms.start(Then((OneOf(("find ", "go ")), OneOf((f"cabinet {n}", "apple"))))) for n in (1, 2))
    assert one.allowed is other.allowed


def test_places_of_equal_forms_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "PLACES", 6)
    tokenizer, _ = make("words")
    forms, starts = FormTokens(tokenizer), list[Place]()
    texts = ("go apple", "go cabinet 1", "go cabinet 2", "go fridge 1")
    for text in texts * 3:
        starts.append(forms.start(OneOf(texts)))
        place = starts[-1]
        for token in tokenizer.encode(text, add_special_tokens=False):
            place = place.after(token)
        assert place.text == text
        assert forms.places <= 6 + 3
    assert 1 < len({id(start) for start in starts}) < len(starts)


def test_forms_leave_the_tokenizer_as_prompts_need_it() -> None:
    """Environments render prompts with the same tokenizer in other threads, while answers are sampled."""
    tokenizer, _ = make("words")
    FormTokens(tokenizer).start(OneOf(("apple", "go to ")))
    assert not tokenizer.backend_tokenizer.encode_special_tokens


def test_the_end_of_sequence_is_no_text() -> None:
    with pytest.raises(ValueError, match="'apple <end>' holds the end of sequence"):
        FormTokens(make("words")[0]).start(OneOf(("apple <end>", "go")))
    ids = FormTokens(make("bytes")[0]).start("<eos>").allowed
    assert make("bytes")[0].decode(ids) == "<", "where text and mark have different ids, it is text"


def conditional(model: PreTrainedModel, prompt: list[int], ids: list[int], ways: set[tuple[int, ...]]) -> list[float]:
    """Log-probability of each id among those with which one of the ways goes on, by whole passes."""
    with torch.no_grad():
        logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
    found = []
    for at, (token, row) in enumerate(zip(ids, logits, strict=True)):
        allowed = sorted({way[at] for way in ways if way[:at] == tuple(ids[:at])})
        found.append(float(row[allowed].log_softmax(-1)[allowed.index(token)]))
    return found


@pytest.mark.parametrize("kind", ["words", "bytes", "llama"])
def test_completions_have_their_form_and_its_log_probabilities(kind: str) -> None:
    tokenizer, model = make(kind)
    forms = (
        TURN,
        None,
        Then((Repeat(OneOf(("apple", "1", "go ")), 1, 3), OneOf(("2 ", "12")))),
        "find apple",
        Repeat(OneOf(("go to ", "apple")), 0, 2),
    )
    prompts = [tokenizer.encode(text, add_special_tokens=False) for text in ("go to", "find", "apple 1", "2 ", "12")]
    params = SamplingParams(40, n=6, seed=3, choices=forms)
    for prompt, form, answers in zip(
        prompts, forms, TransformersGenerator(model, tokenizer).generate(prompts, params), strict=True
    ):
        for answer in answers:
            assert answer.token_ids is not None
            assert answer.logprobs is not None
            if form is None:
                assert answer.allowed is None
                continue
            ways = written(form, tokenizer)
            assert answer.finish_reason == "stop"
            assert matches(form, answer.text)
            assert tuple(answer.token_ids) in ways
            expected = conditional(model, prompt, answer.token_ids, ways)
            assert answer.logprobs == pytest.approx(expected, abs=1e-4)
            assert answer.allowed is not None
            for logprob, allowed in zip(answer.logprobs, answer.allowed, strict=True):
                assert allowed is not None
                assert (logprob == 0.0) == (len(allowed) == 1)
        assert len({tuple(answer.token_ids or ()) for answer in answers}) > 1 or isinstance(form, str)


def test_samples_come_as_often_as_the_model_would_have_them() -> None:
    tokenizer, model = make("words")
    form = OneOf(("go to", "go apple", "apple", "cabinet 1", "cabinet 2", "cabinet 12"))
    prompt = tokenizer.encode("find", add_special_tokens=False)
    (answers,) = TransformersGenerator(model, tokenizer).generate(
        [prompt], SamplingParams(9, n=4000, seed=1, choices=(form,))
    )
    for way in written(form, tokenizer):
        chance = math.exp(sum(conditional(model, prompt, list(way), written(form, tokenizer))))
        share = sum(tuple(answer.token_ids or ()) == way for answer in answers) / len(answers)
        assert share == pytest.approx(chance, abs=4 * math.sqrt(chance / len(answers)))


def test_a_form_longer_than_the_limit_is_cut_and_forced_tokens_use_no_chance() -> None:
    tokenizer, model = make("words")
    prompt = tokenizer.encode("find", add_special_tokens=False)
    generator = TransformersGenerator(model, tokenizer)
    ((cut,),) = generator.generate([prompt], SamplingParams(3, choices=("go to cabinet 12",)))
    assert (cut.text, cut.finish_reason, cut.logprobs) == ("go to cabinet", "length", [0.0] * 3)
    picks = OneOf(("1", "2", "12"))
    seeds = tuple(range(40))
    found = []
    for form in (picks, Then(("go to ", picks))):
        params = SamplingParams(9, temperature=1e6, seeds=seeds, choices=(form,) * 40)
        answers = generator.generate([prompt] * 40, replace(params, temperature=0))
        assert len({answer.text for (answer,) in answers}) == 1
        answers = generator.generate([prompt] * 40, params)
        found.append([answer.text.removeprefix("go to ") for (answer,) in answers])
    assert found[0] == found[1], "all but uniform: the same numbers, the same picks"


JUDGEMENT = Then((Prose(30), OneOf((r" \boxed{1}", r" \boxed{-1}"))))


def sentence_pieces() -> PreTrainedTokenizerFast:
    """Pieces that begin with a mark for the blank before them, which is dropped at the beginning of a text."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=200, special_tokens=["<eos>", "<unk>"], initial_alphabet=[*PLAIN.strip(), "▁", "é"]
    )
    tokenizer.train_from_iterator(["find the apple. go to cabinet 12 \\boxed{1} \\boxed{-1}"] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>")


@pytest.mark.parametrize("kind", ["bytes", "pieces"])
@given(seed=st.integers(0, 2**32 - 1))
def test_free_text_is_what_its_tokens_say_and_ends_in_time(kind: str, seed: int) -> None:
    tokenizer = _prose_tokenizer(kind)
    tokens, rng, ids = _prose_tokens(kind), np.random.default_rng(seed), list[int]()
    limit = int(rng.integers(4, 50))
    begun = bool(rng.integers(2))
    form = fitted(Then((Prose(30, begun=begun), JUDGEMENT.parts[1])), limit)
    place = tokens.start(form)
    while place.allowed != ():
        may = np.flatnonzero(place.mask) if place.mask is not None else np.array(place.allowed)
        ids.append(int(rng.choice(may)))
        assert place.admits(ids[-1])
        place = place.after(ids[-1])
    assert place.text is not None
    assert matches(form, place.text)
    assert len(ids) <= max(limit, 1 + begun + len(r" \boxed{-1}"))
    assert tokenizer.decode(ids[:-1], clean_up_tokenization_spaces=False).strip() == place.text.strip()
    assert parse_score(place.text) in (-1, 1)
    if kind == "bytes":
        followed = Spellings(tokenizer, {tokenizer.eos_token_id}).allowed(form, ids)
        assert all(token in may for token, may in zip(ids, followed, strict=True)), "vLLM allows the tokenizer's way"


@cache
def _prose_tokenizer(kind: str) -> PreTrainedTokenizerFast:
    return byte_level() if kind == "bytes" else sentence_pieces()


@cache
def _prose_tokens(kind: str) -> FormTokens:
    return FormTokens(_prose_tokenizer(kind))


def admitted(place: Place) -> list[str]:
    """Texts of the tokens with which a free text goes on."""
    assert place.mask is not None
    assert place.allowed is None
    return [_prose_tokenizer("bytes").decode([int(token)]) for token in np.flatnonzero(place.mask)]


def test_free_text_takes_no_marks_and_no_broken_characters() -> None:
    texts = admitted(_prose_tokens("bytes").start(JUDGEMENT))
    assert "<eos>" not in texts
    assert all(set(text) <= set(Prose(1).characters) for text in texts)
    assert {"a", " ", "apple"} <= set(texts)


def test_a_text_that_is_not_empty_begins_with_any_token_of_its_characters() -> None:
    quote = _prose_tokenizer("bytes").convert_tokens_to_ids('"')
    texts = admitted(_prose_tokens("bytes").start(form_of_schema({"type": "string", "minLength": 1})).after(quote))
    assert {"a", "apple"} <= set(texts)
    assert not any(text[0] in ' \n"' for text in texts)


@pytest.mark.parametrize("kind", ["bytes", "llama"])
def test_judgements_are_written_with_their_score_and_free_log_probabilities(kind: str) -> None:
    tokenizer, model = make(kind)
    prompt = tokenizer.encode("find apple", add_special_tokens=False)
    params = SamplingParams(28, n=8, seed=3, choices=(JUDGEMENT, None))
    generator = TransformersGenerator(model, tokenizer)
    judged, free = generator.generate([prompt, prompt], params)
    assert {parse_score(answer.text) for answer in judged} == {-1, 1}
    assert {answer.finish_reason for answer in judged} == {"stop"}
    assert {answer.allowed for answer in free} == {None}
    for answer in judged:
        ids, allowed = answer.token_ids or [], answer.allowed or []
        with torch.no_grad():
            logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        for token, logprob, may, row in zip(ids, answer.logprobs or [], allowed, logits, strict=True):
            if may is None:
                assert logprob == pytest.approx(float(row[token]), abs=1e-4)
            elif len(may) == 1:
                assert logprob == 0.0
        assert sum(may is not None and len(may) == 2 for may in allowed) == 1, "1 or -1"


class Conversations:
    """Episodes of several turns, written with or without keys."""

    def __init__(self, kind: str, **given: Any) -> None:
        self.tokenizer, self.model = make(kind)
        self.generator = TransformersGenerator(self.model, self.tokenizer, **given)
        self.texts = [self.ids(text) for text in ("find apple ", "find apple ", "go to cabinet 1 ", "2 ", "12 1 ")]

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def turn(self, number: int, keyed: bool, only: Sequence[int] = range(5), **params: Any) -> list[Completion]:
        forms = (TURN, None, Then((OneOf(("go ", "find ")), OneOf(("apple", "1")))), TURN, None)
        own = SamplingParams(
            12,
            seeds=tuple(100 * number + row for row in only),
            choices=tuple(forms[row] for row in only),
            keys=tuple(7 * row for row in only) if keyed else (),
            **params,
        )
        answers = [answer for (answer,) in self.generator.generate([self.texts[row] for row in only], own)]
        for row, answer in zip(only, answers, strict=True):
            self.texts[row] = self.texts[row] + list(answer.token_ids or ()) + self.ids(f"cabinet {number} ")
        return answers


def same(some: list[Completion], others: list[Completion]) -> None:
    for one, other in zip(some, others, strict=True):
        assert one.token_ids == other.token_ids
        assert (one.text, one.allowed, one.prompt_ids) == (other.text, other.allowed, other.prompt_ids)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


@pytest.mark.parametrize("kind", ["words", "bytes", "llama"])
def test_what_is_kept_of_conversations_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, fresh = Conversations(kind), Conversations(kind)
    read: list[list[int]] = []

    def append(self: Any, rows: Any, tokens: Any, *more: Any, was: Any = RaggedDecoder.append) -> Any:
        read.append([len(some) for some in tokens])
        return was(self, rows, tokens, *more)

    monkeypatch.setattr(RaggedDecoder, "append", append)
    turns = ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4), (4, 2, 0), (4, 1, 2, 0), (3, 0))  # episodes end, move and come back
    for number, rows in enumerate(turns):
        if number == 3:
            for texts in (kept.texts, fresh.texts):
                texts[2] = texts[2][:-4] + kept.ids("apple 2")  # another history than the one that was written
        del read[:]
        mine = kept.turn(number, True, rows)
        first = dict(zip(rows, read[0], strict=True))
        same(mine, fresh.turn(number, False, rows))
        for row in rows:
            whole = (number, row) in {(3, 1), (4, 3)} or number == 0
            assert (first[row] >= len(mine[rows.index(row)].prompt_ids or ())) == whole, (number, row, first)


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(1, 4))
def test_shared_beginnings_are_beginnings_of_what_is_read_whole(texts: list[list[int]], least: int) -> None:
    for at, one in enumerate(shared_prefixes(texts, least)):
        if one is not None:
            other, same = one
            assert least <= same < len(texts[at]) <= len(texts[other])
            assert texts[at][:same] == texts[other][:same]
            assert shared_prefixes(texts, least)[other] is None


@pytest.mark.parametrize("kind", ["words", "llama"])
@pytest.mark.parametrize("keyed", [True, False])
def test_prompts_of_one_batch_read_their_common_beginning_once(
    kind: str, keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, model = make(kind)
    rng = np.random.default_rng(5)
    story = rng.integers(4, len(tokenizer), 90).tolist()
    turns = [[*story[:length], 5, 6] for length in (40, 55, 70, 90)]  # of one episode, as a judge reads them
    prompts = [story[::-1], *turns, turns[3], [7, 8], story[5:], story[5:]]
    params = SamplingParams(6, n=1 if keyed else 3, seed=2, keys=tuple(range(9)) if keyed else ())
    read = 0

    def append(self: Any, rows: Any, tokens: Any, *more: Any, was: Any = RaggedDecoder.append) -> Any:
        nonlocal read
        read += sum(map(len, tokens))
        return was(self, rows, tokens, *more)

    monkeypatch.setattr(RaggedDecoder, "append", append)
    answers = TransformersGenerator(model, tokenizer).generate(prompts, params)
    shared, read = read, 0
    monkeypatch.setattr(engine, "SHARED", 1000)
    alone = TransformersGenerator(model, tokenizer).generate(prompts, params)
    for mine, theirs in zip(answers, alone, strict=True):
        same(mine, theirs)
    assert read - shared == sum(min(len(turn) - 2, 90) for turn in turns[:3]) + 91 + 84


def test_new_weights_end_what_was_kept() -> None:
    kept, fresh = Conversations("words"), Conversations("words")
    with torch.no_grad():
        weight = kept.model.model.layers[0].mlp.down_proj.weight
        was = weight.clone()
        try:
            for number in range(4):
                same(kept.turn(number, True), fresh.turn(number, False))
                weight.mul_(1.1)  # as an optimizer does, and nobody says so
        finally:
            weight.copy_(was)
    for number in (5, 6):
        kept.turn(number, True)
        assert kept.generator._kept
        if number == 5:
            kept.generator.update_weights(kept.model, number)
        else:
            kept.generator.close()
        assert not kept.generator._kept
    kept.turn(7, True)
    kept.turn(8, False)
    assert not kept.generator._kept, "calls without keys keep nothing"
