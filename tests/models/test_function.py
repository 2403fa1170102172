"""A Python function as a model: its arguments, every return value it may have, and everything that may go wrong in it."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models import threads, user_code
from callmark.models.function import FunctionModel
from callmark.models.model import ModelError, ModelFailure
from callmark.types import Call, Case, Message, Prediction, Tool

CASE = Case("c7", (Message("user", "Weather in Oslo?"),), (Tool("get_weather", "", {"type": "object"}),))

Write = Callable[[str], str]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a module into the current folder and return its name. Hanging code is waited for only briefly."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(threads, "_STOP_TIMEOUT", 0.2)

    def write(code: str) -> str:
        name = f"agent_{len(list(tmp_path.glob('*.py')))}_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        return name

    return write


def predict_all(spec: str, *cases: Case, trial: int = 0, timeout: float = 20) -> list[Prediction | str]:
    """Return the prediction or the error of each case, all requested concurrently."""

    async def predict_one(model: FunctionModel, case: Case) -> Prediction | str:
        try:
            return await model.predict(case, trial=trial)
        except ModelError as error:
            return str(error)

    async def run() -> list[Prediction | str]:
        async with FunctionModel(spec, timeout=timeout) as model:
            return await asyncio.gather(*[predict_one(model, case) for case in cases or [CASE]])

    return asyncio.run(run())


def predict_return_value(agent: Write, expression: str, more: str = "") -> Prediction | str:
    return predict_all(agent(f"{more}\ndef answer(messages, tools):\n    return {expression}\n") + ":answer")[0]


def test_returned_value_is_converted(agent: Write) -> None:
    text = '[get_weather(city="Oslo")]'
    assert predict_return_value(agent, "{'role': 'assistant', 'content': None, 'tool_calls': [{'name': 'f'}]}") == Prediction(
        "c7", 0, (Call("f"),)
    )
    assert predict_return_value(agent, repr(text)) == Prediction("c7", 0, (Call("get_weather", {"city": "Oslo"}),))  # a tool of the case
    assert predict_return_value(agent, "None") == Prediction("c7")


@pytest.mark.parametrize(
    "expression, sentence",
    [
        ("5", "did not return a prediction: expected a message, calls, text or None, got an int"),
        ("Bad()", "returned a Bad that cannot be converted: ValueError: no (agent_0"),
    ],
)
def test_returned_value_of_another_type_is_named(agent: Write, expression: str, sentence: str) -> None:
    prediction = predict_return_value(agent, expression, "class Bad:\n    def to_dict(self): raise ValueError('no')")
    assert isinstance(prediction, str)
    assert sentence in prediction


def test_returned_error_raises_model_error(agent: Write) -> None:
    assert predict_return_value(agent, "{'error': {'code': 'rate_limit', 'message': 'slow down'}}") == "rate_limit: slow down"


@pytest.mark.parametrize(
    "code, sentence",
    [
        ("raise ValueError('no order')", " raised ValueError: no order (agent_0"),
        ("return {}['x']", " raised KeyError: 'x' (agent_0"),
        ("import json\n    json.loads('{')", "JSONDecodeError: Expecting property name"),
        ("raise SystemExit(3)", " raised SystemExit: 3 (agent_0"),
        ("import sys; sys.exit()", " raised SystemExit (agent_0"),
        ("raise StopIteration", " raised StopIteration (agent_0"),
        ("import asyncio; raise asyncio.CancelledError", " raised CancelledError (agent_0"),
        ("raise ValueError('\\x1b[31mred\\n\\u202eline')", " raised ValueError: \\x1b[31mred \\u202eline ("),
        ("raise ValueError('x' * 10**6)", f" raised ValueError: {'x' * 500}… ("),
        ("class Odd(Exception):\n        def __str__(self): raise self\n    raise Odd", " raised Odd (agent_0"),
        ("return answer(messages, tools)", "RecursionError: maximum recursion depth exceeded"),
        ("raise TimeoutError('theirs')", " raised TimeoutError: theirs (agent_0"),
    ],
)
@pytest.mark.parametrize("how", ["def", "async def"])
def test_exception_is_an_error_with_its_line(agent: Write, how: str, code: str, sentence: str) -> None:
    if how == "async def":
        code = code.replace("return answer(", "return await answer(").replace("raise StopIteration", "raise StopIteration()")
        if "StopIteration" in code:
            sentence = "RuntimeError: coroutine raised StopIteration"
    name = agent(f"{how} answer(messages, tools):\n    {code}\n")
    (outcome,) = predict_all(f"{name}:answer")
    assert isinstance(outcome, str)
    assert outcome.startswith(f"{name}:answer raised ")
    assert sentence in outcome
    assert f"({name}.py:" in outcome
    assert len(outcome) < 700
    assert outcome.isprintable()


def test_line_is_the_innermost_of_the_users_files(agent: Write) -> None:
    inner = agent("import json\ndef read(text):\n    # one\n    return json.loads(text)\n")
    name = agent(f"import {inner}\n\ndef answer(messages, tools):\n    return {inner}.read('{{')\n")
    (outcome,) = predict_all(f"{name}:answer")
    assert str(outcome).endswith(f"({inner}.py:4)")


def test_keyboard_interrupt_passes_through(agent: Write) -> None:
    for how in ("def", "async def"):
        name = agent(f"{how} answer(messages, tools):\n    raise KeyboardInterrupt\n")
        with pytest.raises(KeyboardInterrupt):
            predict_all(f"{name}:answer")


@pytest.mark.parametrize(
    "code, attribute",
    [
        ("def answer(messages, tools): return 'ok'", "answer"),
        ("async def answer(messages, tools): return 'ok'", "answer"),
        ("class Agent:\n    def __call__(self, messages, tools): return 'ok'\nagent = Agent()", "agent"),
        ("class Agent:\n    async def __call__(self, messages, tools): return 'ok'\nagent = Agent()", "agent"),
        ("class Agent:\n    def __call__(self, messages, tools): return 'ok'", "Agent"),
        ("class Agent:\n    def act(self, messages, tools): return 'ok'\nagent = Agent()", "agent.act"),
        ("import functools\ndef f(key, messages, tools): return key\nanswer = functools.partial(f, 'ok')", "answer"),
        ("import functools\nasync def f(key, messages, tools): return key\nanswer = functools.partial(f, 'ok')", "answer"),
        ("async def f(): return 'ok'\ndef answer(messages, tools): return f()", "answer"),
        ("answer = lambda *both: 'ok'", "answer"),
        ("def answer(messages, tools, *, trial, case_id): return 'ok' if (trial, case_id) == (2, 'c7') else 'no'", "answer"),
        ("def answer(messages, tools, case_id, more=1): return 'ok' if case_id == 'c7' else 'no'", "answer"),
        ("def answer(messages, tools, **more): return 'no' if more else 'ok'", "answer"),
        ("def answer(case_id, trial): return 'ok' if case_id[0]['role'] == 'user' and trial else 'no'", "answer"),
    ],
)
def test_every_kind_of_callable_is_called(agent: Write, code: str, attribute: str) -> None:
    assert predict_all(f"{agent(code)}:{attribute}", CASE, trial=2) == [Prediction("c7", 2, (), "ok")]


def test_function_may_modify_its_arguments(agent: Write) -> None:
    name = agent(
        "import json\n"
        "def answer(messages, tools):\n"
        "    said = json.dumps([messages, tools])\n"
        "    messages.clear(); tools[0]['function'].clear(); tools.append(1)\n"
        "    return {'role': 'assistant', 'content': said}\n"
    )
    first, second = predict_all(f"{name}:answer", CASE, CASE)
    assert first == second
    assert isinstance(first, Prediction)
    messages, tools = json.loads(first.text)
    assert messages == [{"role": "user", "content": "Weather in Oslo?"}]
    assert tools == [{"type": "function", "function": {"name": "get_weather", "description": "", "parameters": {"type": "object"}}}]


def test_prints_go_to_standard_error(agent: Write, capfd: pytest.CaptureFixture[str]) -> None:
    name = agent("print('loading')\ndef answer(messages, tools):\n    print('thinking')\n    return 'ok'\n")
    assert predict_all(f"{name}:answer") == [Prediction("c7", 0, (), "ok")]
    print("mine")  # noqa: T201 - standard output is restored
    assert capfd.readouterr() == ("mine\n", "loading\nthinking\n")


@pytest.mark.parametrize(
    "code",
    [
        "import time\ndef answer(messages, tools, case_id):\n    if case_id == 'slow': time.sleep(60)\n    return 'ok'",
        "import asyncio\nasync def answer(messages, tools, case_id):\n    if case_id == 'slow': await asyncio.sleep(60)\n    return 'ok'",
        "import asyncio\nasync def answer(messages, tools, case_id):\n    while case_id == 'slow':\n"
        "        try: await asyncio.sleep(60)\n        except asyncio.CancelledError: pass\n    return 'ok'",
    ],
    ids=["sync", "async", "async that ignores cancellation"],
)
def test_hanging_call_does_not_delay_others(agent: Write, code: str) -> None:
    name = agent(code)
    began = time.monotonic()
    slow, *rest = predict_all(f"{name}:answer", Case("slow"), *[Case(str(n)) for n in range(20)], timeout=2)
    assert slow == f"{name}:answer did not return within 2 s"
    assert rest == [Prediction(str(n), 0, (), "ok") for n in range(20)]
    assert time.monotonic() - began < 50


def test_blocking_async_code_does_not_block_the_event_loop(agent: Write) -> None:
    name = agent("import time\nasync def answer(messages, tools):\n    time.sleep(1)\n    return 'ok'\n")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def run() -> None:
        ticking = asyncio.create_task(tick())
        async with FunctionModel(f"{name}:answer", timeout=0.3) as model:
            with pytest.raises(ModelError, match=r"did not return within 0\.3 s$"):
                await model.predict(CASE)
            ticking.cancel()

    asyncio.run(run())
    assert ticks > 5


def test_too_many_hanging_calls_are_fatal(agent: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_code, "MAX_HANGING", 3)
    name = agent("import threading\nawake = threading.Event()\ndef answer(messages, tools):\n    awake.wait(60)\n")

    async def run() -> None:
        async with FunctionModel(f"{name}:answer", timeout=0.05) as model:
            await asyncio.gather(*[model.predict(CASE) for _ in range(3)], return_exceptions=True)
            with pytest.raises(ModelError, match="is no longer called: 3 calls never returned") as error:
                await model.predict(CASE)
            assert error.value.fatal
            sys.modules[name].awake.set()
            assert await next_prediction(model) == Prediction("c7")  # the hanging calls have returned

    async def next_prediction(model: FunctionModel) -> Prediction:
        for _ in range(500):
            with suppress(ModelError):
                return await model.predict(CASE)
            await asyncio.sleep(0.01)
        raise AssertionError("it is never called again")

    asyncio.run(run())


def test_process_exits_even_if_a_call_hangs(agent: Write) -> None:
    name = agent("import time\ndef answer(messages, tools): time.sleep(600)\n")
    code = (
        "import asyncio\nfrom callmark.models.function import FunctionModel\nfrom callmark.models.model import ModelError\n"
        "from callmark.types import Case\n"
        "async def run():\n"
        f"    async with FunctionModel('{name}:answer', timeout=0.1) as model:\n"
        "        try: await model.predict(Case('a'))\n"
        "        except ModelError as error: print(error)\n"
        "asyncio.run(run())\nprint('ended')\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.returncode) == ("ended\n", 0)
    assert done.stderr == f"{name}:answer did not return within 0.1 s\n"


def test_module_may_import_its_neighbors_when_called(agent: Write) -> None:
    other = agent("WORD = 'ok'\n")
    name = agent(f"def answer(messages, tools):\n    from {other} import WORD\n    return WORD\n")
    before = list(sys.path)
    assert predict_all(f"{name}:answer") == [Prediction("c7", 0, (), "ok")]
    assert sys.path == before


@pytest.mark.parametrize(
    "code, spec, sentence",
    [
        ("", "NAME", "expected MODULE:FUNCTION, got 'NAME'"),
        ("", ":answer", "expected MODULE:FUNCTION, got ':answer'"),
        ("", "NAME:", "expected MODULE:FUNCTION, got 'NAME:'"),
        ("", "NAMEX:answer", "NAMEX:answer: no module named NAMEX. Did you mean NAME?"),
        ("", "no_such_module.inner:answer", "no_such_module.inner:answer: no module named no_such_module"),
        ("import no_such_module", "NAME:answer", "cannot import NAME: ModuleNotFoundError: No module named 'no_such_module' (NAME.py:1)"),
        ("\n\nx = 1 / 0", "NAME:answer", "NAME:answer: cannot import NAME: ZeroDivisionError: division by zero (NAME.py:3)"),
        ("def f(:\n", "NAME:answer", "cannot import NAME: SyntaxError: invalid syntax (NAME.py:1)"),
        ("raise SystemExit('bye')", "NAME:answer", "cannot import NAME: SystemExit: bye (NAME.py:1)"),
        ("def answer(messages, tools): ...", "NAME:anwser", "module NAME has no attribute 'anwser'. Did you mean answer?"),
        ("class A: ...", "NAME:A.answer", "module NAME has no attribute 'A.answer'"),
        ("answer = 5", "NAME:answer", "NAME:answer: expected a function of messages and tools, got an int"),
        ("class Agent: ...", "NAME:Agent", "NAME:Agent: expected a function of messages and tools, got an Agent"),
        ("class Agent:\n    def __init__(self, key): ...", "NAME:Agent", "NAME:Agent: cannot create an instance: TypeError: "),
        ("def answer(messages): ...", "NAME:answer", "NAME:answer cannot be called with (messages, tools): too many positional arguments"),
        (
            "def answer(a, b, c): ...",
            "NAME:answer",
            "NAME:answer cannot be called with (messages, tools): missing a required argument: 'c'",
        ),
    ],
)
def test_invalid_spec_is_one_line(agent: Write, code: str, spec: str, sentence: str) -> None:
    name = agent(code)
    with pytest.raises(BadInput) as error:
        FunctionModel(spec.replace("NAME", name), timeout=5)
    assert sentence.replace("NAME", name) in str(error.value)
    assert "\n" not in str(error.value)


def test_zero_timeout_is_rejected(agent: Write) -> None:
    with pytest.raises(BadInput, match="timeout: expected more than 0 seconds, got 0$"):
        FunctionModel(f"{agent('def answer(messages, tools): ...')}:answer", timeout=0)


def test_label_is_valid_as_a_folder_name(agent: Write) -> None:
    name = agent("def answer(messages, tools): ...")
    model = FunctionModel(f"{name}:answer", timeout=5)
    assert (model.label, model.fingerprint(CASE, 0)) == (f"{name}.answer", None)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ("ModelError('busy', retryable=True, retry_after=2.0, rate_limited=True)", (ModelError, "busy", (True, 2.0, True, False))),
        ("ModelFailure('too hard')", (ModelFailure, "too hard", None)),
    ],
)
def test_function_may_raise_model_errors_and_failures(agent: Write, raised: str, expected: Any) -> None:
    code = f"from callmark import ModelError, ModelFailure\ndef answer(messages, tools):\n    raise {raised}\n"
    model = FunctionModel(f"{agent(code)}:answer", timeout=20)

    async def run() -> None:
        async with model:
            await model.predict(CASE)

    kind, sentence, flags = expected
    with pytest.raises(kind) as caught:
        asyncio.run(run())
    error: Any = caught.value
    assert str(error) == sentence
    assert flags is None or (error.retryable, error.retry_after, error.rate_limited, error.fatal) == flags


@pytest.mark.parametrize(
    "raised, failures, kind",
    [
        ("Odd('no')", ["{module}.Odd"], ModelFailure),
        ("Odd('no')", ["{module}.Base"], ModelFailure),  # a base class
        ("Odd('no')", ["builtins.Exception"], ModelFailure),
        ("Odd('no')", [], ModelError),
        ("Odd('no')", ["Odd", "other.Odd"], ModelError),  # the full name is compared
        ("KeyError('no')", ["{module}.Odd"], ModelError),
    ],
)
def test_exception_named_as_a_failure_is_the_fault_of_the_model(
    agent: Write, raised: str, failures: list[str], kind: type[Exception]
) -> None:
    code = f"class Base(Exception): pass\nclass Odd(Base): pass\ndef answer(messages, tools):\n    raise {raised}\n"
    name = agent(code)
    model = FunctionModel(f"{name}:answer", timeout=20, failures=[each.format(module=name) for each in failures])

    async def predict() -> None:
        async with model:
            await model.predict(CASE)

    with pytest.raises(kind, match="no"):
        asyncio.run(predict())
