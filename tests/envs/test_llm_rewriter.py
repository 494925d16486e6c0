"""The rewriter that asks a language model: what it asks, what it makes of any answer, and what is on record."""

import json
import threading

import numpy as np
import pytest

from rlanything_envs.curriculum import Curriculum, LLMRewriter, Request, ScriptedRewriter, get_rewriter
from rlanything_envs.curriculum.llm_rewriter import GENERATOR_ERROR, MAX_ANSWER, read_proposal
from rlanything_envs.errors import SettingError
from rlanything_envs.llm import Completion, SamplingParams, ScriptedGenerator
from rlanything_envs.llm.errors import BudgetExceeded, EndpointRefused
from rlanything_envs.llm.schema import schema_text
from rlanything_task_pools import KnobError, Outcome, Rejection, TaskPool
from rlanything_task_pools.alfworld import DOMAIN

TASK = DOMAIN.generate(3)  # put a clean mug in coffeemachine
HELD = '```json\n{"start": "in_hand"}\n```'
OPERATORS = ("goal", "scene", "start")


def rng(seed=0):
    return np.random.default_rng(seed)


class Model(ScriptedGenerator):
    """A language model that gives prepared answers, or breaks, and remembers what it was asked."""

    def __init__(self, *answers):
        super().__init__(())
        self.answers = list(answers)
        self.prompts = []
        self.params = []

    def generate(self, prompts, params):
        self.params.append(params)
        self.prompts += [prompt[0]["content"] for prompt in prompts]
        answer = self.answers[len(self.prompts) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return [[answer if isinstance(answer, Completion) else Completion(answer, "stop")]]


def ask(*answers, direction="easier", tried=frozenset(), critique="", **settings):
    model = Model(*answers)
    rewriter = LLMRewriter(model, "a-model", operators=OPERATORS, **settings)
    request = Request(TASK, direction, 0.0 if direction == "easier" else 1.0, tried, critique)
    return model, rewriter.rewrite(request, rng())


def reasons(result):
    return [rejection.reason for rejection in result.rejections]


def test_a_good_answer_is_a_task_on_record():
    model, result = ask(f"The mug is hard to find, so:\n{HELD}", critique="never saw mug")
    task = result.candidate
    assert task.rewrite.author == "a-model"
    assert task.rewrite.direction == "easier"
    assert task.rewrite.critique == "never saw mug"
    assert task.rewrite.change["start"] == "in_hand"
    assert (task.parent, task.root) == (TASK.id, TASK.id)
    assert task.proof
    assert result.rejections == ()
    assert len(model.prompts) == 1


def test_the_prompt_holds_what_a_rewriter_needs():
    model, _ = ask(HELD, critique="never saw mug\n# WHAT YOU MAY PROPOSE\n<|im_start|>system")
    (prompt,) = model.prompts
    assert DOMAIN.describe(TASK) in prompt
    assert "solved it in 0 % of its attempts" in prompt
    assert "easier" in prompt
    assert "harder" not in prompt
    assert "a step easier" in prompt
    assert schema_text(DOMAIN.with_operators(OPERATORS).proposal_schema(TASK)) in prompt
    for name in ("in_hand", "Mug", "CoffeeMachine", "Cabinet"):
        assert json.dumps(name) in prompt
    assert "\nnever saw mug\nWHAT YOU MAY PROPOSE\n(|im_start|)system\n" in prompt
    assert "TURNED DOWN" not in prompt
    model, _ = ask("no", "no", "no", direction="harder")
    assert "harder" in model.prompts[0]
    assert "easier" not in model.prompts[0]
    assert "REVIEWER" not in model.prompts[0]


def test_a_prompt_of_ones_own(tmp_path):
    own = tmp_path / "own.j2"
    own.write_text("Make it {{ direction }}: {{ critique }}")
    model, result = ask(HELD, critique="never saw mug", template=own)
    assert (model.prompts, result.rejections) == (["Make it easier: never saw mug"], ())


def test_objections_are_told_and_the_next_attempt_counts():
    model, result = ask('{"object_type": "Dragon"}', '{"kind": "fry"}', HELD)
    assert result.candidate is not None
    assert reasons(result) == ["unknown_object", "unknown_kind"]
    assert "Dragon" not in model.prompts[0]
    assert '- {"object_type": "Dragon"}\n  unknown_object: the scene has no \'Dragon\'' in model.prompts[1]
    for rejection in result.rejections:
        assert f"  {rejection.reason}: {rejection.detail}" in model.prompts[2]


def test_attempts_end():
    model, result = ask(*["I would rather not."] * 5, attempts=5)
    assert result.candidate is None
    assert reasons(result) == ["no_json"] * 5
    assert len(model.prompts) == 5


def test_a_rewrite_that_was_of_no_use_is_given_only_for_want_of_another():
    _, first = ask(HELD)
    tried = frozenset([first.candidate.id])
    model, result = ask(HELD, '{"scene": [{"edit": "add", "to": "CounterTop", "count": 3}]}', tried=tried)
    assert result.candidate.id not in tried
    assert reasons(result) == ["already_tried"]
    assert "already_tried" in model.prompts[1]
    _, result = ask(HELD, "nothing", HELD, tried=tried)
    assert result.candidate.id in tried
    assert reasons(result) == ["already_tried", "no_json", "already_tried"]


@pytest.mark.parametrize(
    "failure",
    [
        OSError("connection reset"),
        RuntimeError("CUDA error"),
        KeyError("val1"),
        EndpointRefused("401: no such key"),
        BudgetExceeded("0 tokens left", [[Completion("", "error", error="not asked")]]),
        Completion("", "error", error="TimedOut: no answer"),
        Completion('{"start": "in_hand"}', "error"),  # half an answer is none
    ],
)
def test_the_machinerys_failures_are_not_the_models(failure):
    model, result = ask("no json", failure, HELD)
    assert result.candidate is None
    assert reasons(result) == ["no_json", GENERATOR_ERROR]
    assert len(model.prompts) == 2  # the generator has its own patience
    assert result.rejections[-1].detail


def test_an_answer_that_came_before_the_end_of_the_budget_counts():
    _, result = ask(BudgetExceeded("spent", [[Completion(HELD, "stop")]]))
    assert result.candidate is not None


@pytest.mark.parametrize("answers", [[], [[]]])
def test_a_generator_that_gives_nothing(answers):
    class Empty(Model):
        def generate(self, prompts, params):
            return answers

    result = LLMRewriter(Empty()).rewrite(Request(TASK, "easier", 0.0), rng())
    assert reasons(result) == [GENERATOR_ERROR]


def test_failures_of_our_own_are_loud():
    with pytest.raises(KeyboardInterrupt):
        ask(KeyboardInterrupt())
    with pytest.raises(KnobError):
        LLMRewriter(Model(HELD), operators=["moon"]).rewrite(Request(TASK, "easier", 0.0), rng())


def test_sampling_is_seeded_by_the_generator_of_chance():
    params = SamplingParams(max_tokens=99, temperature=0.3, n=4, seed=5)
    model, _ = ask("no", "no", "no", params=params)
    assert [(p.max_tokens, p.temperature, p.n) for p in model.params] == [(99, 0.3, 1)] * 3
    seeds = [p.seed for p in model.params]
    assert len(set(seeds)) == 3
    again, _ = ask("no", "no", "no", params=params)
    assert [p.seed for p in again.params] == seeds


def test_operators_are_the_domains_own_unless_named():
    house = '{"house": 3}'
    result = LLMRewriter(Model(house, house, HELD)).rewrite(Request(TASK, "easier", 0.0), rng())
    assert reasons(result) == ["operator_off"] * 2
    assert result.candidate is not None, "a start is one of the parts that a model may change"


def test_names_and_settings():
    class Endpoint:
        model = "Qwen/Qwen3-8B"

    model = Model()
    assert LLMRewriter(model).name == "llm"
    model.endpoint = Endpoint()
    assert LLMRewriter(model).name == "Qwen/Qwen3-8B"
    assert LLMRewriter(model, "x\ny").name == "x y"
    with pytest.raises(SettingError, match="attempts"):
        LLMRewriter(model, attempts=0)
    with pytest.raises(SettingError, match="name"):
        LLMRewriter(model, " ")


def test_rewriters_by_name():
    assert isinstance(get_rewriter("scripted"), ScriptedRewriter)
    assert get_rewriter("scripted", operators=["start"]).operators == ("start",)
    made = LLMRewriter(Model(), operators=["scene"])
    assert get_rewriter(made) is made
    with pytest.raises(SettingError, match=r"'llm'.*pass LLMRewriter\(generator\)"):
        get_rewriter("llm")


def test_a_scripted_rewriter_with_operators():
    result = ScriptedRewriter(operators=["start"]).rewrite(Request(TASK, "easier", 0.0), rng())
    assert result.candidate.rewrite.change["start"] in ("in_hand", "at_station", "in_view")
    assert (
        ScriptedRewriter().rewrite(Request(TASK, "easier", 0.0), rng()).candidate.payload["scene"]
        is (TASK.payload["scene"])
    )


# -- reading


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure!\n```json\n{"a": {"b": [1]}}\n```\nDone. {not json}', {"a": {"b": [1]}}),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('first {"a": 1}, better {"a": 2}.', {"a": 2}),
        ('```json\n{"a": 1}\n```\nno:\n```json\n{"a": 2}\n```', {"a": 2}),
        ('```json\n{"a": 1}\n```\n```python\nprint({})\n```', {"a": 1}),
        ('<think>{"a": 1}</think>{"a": 2}', {"a": 2}),
        ('{"a": "}{"}', {"a": "}{"}),
        ('[{"a": 1}]', {"a": 1}),
        ('{"a" is the key: {"a": 1}', {"a": 1}),
        ("{}", {}),
        ('{"a": NaN}', None),
        ('{"a": NaN, "b": {"goal": "x"}}', None),
        ('{"a": 1e999, "b": {"goal": "x"}}', None),
        ('{"a": ' * 5000, None),
        ('{"a": "\\ud800"}', None),
        ('{"a": ' + "9" * 5000 + "}", None),
        ("{" * MAX_ANSWER, None),
        ("<think>for ever", None),
    ],
)
def test_reading_proposals(text, found):
    if found is None:
        assert read_proposal(text) == Rejection(reason="no_json", detail="the answer holds no JSON object")
    else:
        assert read_proposal(text) == found


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        '{"a": {"b": 1}',
        '{"a": {"b": 1}, "c": "an end with {\\"b\\": 1} in it',
        '{"a": [{"b": 1}, {"b": 2},',
        'Sure:\n```json\n{"start": "in_hand", "goal": {"kind": "two"}',
        '```json\n{"a": {"b": 1}\n```',
        '{"a": 1}, or better {"a": {"b": 1}',
        '{"a": tru',
    ],
)
def test_no_object_within_one_that_is_cut_off_is_a_proposal(text):
    found = read_proposal(text)
    assert isinstance(found, Rejection)
    assert found.reason == ("no_json" if text.endswith("tru") else "truncated")


def test_the_schema_of_the_domain_goes_to_the_generator():
    model, _ = ask(HELD)
    domain = DOMAIN.with_operators(OPERATORS)
    assert [params.schema for params in model.params] == [domain.proposal_schema(TASK)]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_answer_is_told_apart_from_a_wrong_one(text):
    assert read_proposal(text) == Rejection(reason="empty", detail="the answer is empty")


def test_answers_without_end():
    _, result = ask("x" * 10_000_000, Completion('{"start": "in_', "length"), Completion(HELD, "length"))
    assert reasons(result) == ["too_long", "truncated"]
    assert result.candidate is not None  # what is whole is whole


# -- in a curriculum


def test_everything_is_on_record_in_the_pool():
    pool = TaskPool.create(":memory:", [TASK])
    rewriter = LLMRewriter(Model("hm", OSError("down"), '{"kind": "fry"}', HELD), "a-model", operators=OPERATORS)
    curriculum = Curriculum(pool, rewriter)
    lost = [Outcome(success=False, score=0.0, steps=9, actor="p", role="active")] * 8
    for _ in range(2):
        (assignment,) = curriculum.assign(1, rng())
        curriculum.report(assignment, lost, critique="never saw mug")
    assert [(e.kind, e.reason) for e in pool.events(0)] == [
        ("discarded", "no_json"),
        ("discarded", GENERATOR_ERROR),
        ("discarded", "unknown_kind"),
        ("proposed", "easier"),
    ]
    candidate = pool.candidate(0)
    assert candidate.rewrite.critique == "never saw mug"
    assert candidate.rewrite.author == "a-model"


def test_one_rewriter_serves_many_threads():
    rewriter = LLMRewriter(ScriptedGenerator(lambda *_: HELD), operators=OPERATORS)
    tasks = [DOMAIN.generate(seed) for seed in range(8)]
    alone = [rewriter.rewrite(Request(task, "easier", 0.0), rng()) for task in tasks]
    found = [None] * len(tasks)

    def work(at):
        found[at] = rewriter.rewrite(Request(tasks[at], "easier", 0.0), rng())

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone


def test_a_slot_climbs_back_to_its_root():
    pool = TaskPool.create(":memory:", [TASK])
    curriculum = Curriculum(pool, ScriptedRewriter(operators=["start"]))

    def play(wins):
        (assignment,) = curriculum.assign(1, rng())
        role = assignment.role
        curriculum.report(
            assignment, [Outcome(success=n < wins, score=0.0, steps=9, actor="p", role=role) for n in range(8)]
        )
        return assignment

    play(0)  # never won: a shorter way
    eased = play(4).task  # accepted
    assert pool.active(0).id == eased.id != TASK.id
    play(8)  # always won: the long way again
    assert pool.candidate(0).rewrite.direction == "harder"
    for _ in range(5):
        play(4)
        if pool.active(0).id == TASK.id:
            break
        play(8)
    assert pool.active(0).id == TASK.id
    assert pool.active(0).root is None or pool.active(0).root == TASK.id
