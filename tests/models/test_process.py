"""A program as a model, with real processes: how output lines are matched to requests, and everything a process may do wrong."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callmark.errors import BadInput
from callmark.models import process
from callmark.models.model import ModelError
from callmark.models.process import ProcessModel
from callmark.types import Call, Case, Message, Prediction, SourceRow, Tool, Usage

Write = Callable[[str], str]
Use = Callable[[ProcessModel], Awaitable[None]]

MOMENT = 0.4
SHORT = 0.15  # for tests that always wait for the whole timeout
READ = "import json, os, sys, time\nquestions = (json.loads(line) for line in sys.stdin)\ndef say(**it): print(json.dumps(it))\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a program and return its command. Shortens the exit timeout."""
    monkeypatch.setattr(process, "_EXIT_TIMEOUT", MOMENT)

    def write(code: str) -> str:
        path = tmp_path / f"agent{len(list(tmp_path.iterdir()))}.py"
        path.write_text(READ + code, encoding="utf-8")
        return shlex.join([sys.executable, "-S", str(path)])

    return write


@pytest.fixture
def shorter(program: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_EXIT_TIMEOUT", SHORT)


def use(command: str, what: Use, timeout: float = 20) -> None:
    async def run() -> None:
        async with ProcessModel(command, timeout=timeout) as model:
            await what(model)

    asyncio.run(run())


async def outcome_text(model: ProcessModel, case: str | Case, trial: int = 0) -> str:
    """Return the text of the prediction, or the error."""
    try:
        prediction = await model.predict(case if isinstance(case, Case) else Case(case), trial=trial)
    except ModelError as error:
        return f"{'fatal: ' if error.fatal else ''}{error}"
    return prediction.text


def predict_together(command: str, *cases: str, timeout: float = 20) -> list[str]:
    """Return the outcome of each case, all requested concurrently."""
    outcomes: list[str] = []

    async def what(model: ProcessModel) -> None:
        outcomes.extend(await asyncio.gather(*[outcome_text(model, case) for case in cases]))

    use(command, what, timeout)
    return outcomes


def one_by_one(command: str, *cases: str, timeout: float = 20) -> list[str]:
    outcomes: list[str] = []

    async def what(model: ProcessModel) -> None:
        outcomes.extend([await outcome_text(model, case) for case in cases])

    use(command, what, timeout)
    return outcomes


def test_request_is_one_line_with_the_case_unchanged(program: Write) -> None:
    command = program("for line in questions: say(id=line['id'], message={'role': 'assistant', 'content': json.dumps(line)})")
    raw = [b'{\r\n"role": "user",\n "content": "a\xe2\x80\xa8b", "own": 1}']
    messages = (Message("user", "a\u2028b"),)
    case = Case("c\u00e9 7", messages, (Tool("f"),), None, SourceRow(messages, texts=raw))
    requests: list[dict[str, object]] = []

    async def what(model: ProcessModel) -> None:
        requests.extend([json.loads(await outcome_text(model, case, trial)) for trial in (0, 2, 2)])

    use(command, what)
    assert requests[0]["messages"] == [{"role": "user", "content": "a\u2028b", "own": 1}]
    assert requests[0]["tools"] == [{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}]
    assert [line["trial"] for line in requests] == [0, 2, 2]
    assert len({str(line["id"]) for line in requests}) == 3
    assert all(str(line["id"]).startswith("c\u00e9 7") for line in requests)


@pytest.mark.parametrize(
    "answer, prediction",
    [
        ("say(id=line['id'], tool_calls=[{'name': 'f', 'arguments': {'a': 1}}])", Prediction("a", 0, (Call("f", {"a": 1}),))),
        (
            "say(id='chatcmpl-9', object='chat.completion', usage={'prompt_tokens': 5, 'completion_tokens': 2},"
            " choices=[{'message': {'role': 'assistant', 'content': 'hi'}, 'finish_reason': 'stop'}])",
            Prediction("a", 0, (), "hi", finish_reason="stop", usage=Usage(0.0, 5, 2)),
        ),
        ("print(); print(' '); say(text='hi')", Prediction("a", 0, (), "hi")),
        ("sys.stdout.write(json.dumps({'text': 'no end'})); sys.exit()", Prediction("a", 0, (), "no end")),
    ],
    ids=["with its id", "with another id", "after empty lines", "without a newline"],
)
def test_output_line_is_read(program: Write, answer: str, prediction: Prediction) -> None:
    async def what(model: ProcessModel) -> None:
        assert await model.predict(Case("a")) == prediction

    use(program(f"for line in questions:\n    {answer}\n"), what)


LAST_FIRST = "lines = [next(questions) for _ in range(20)]\nfor line in reversed(lines): "
CASES = [str(number) for number in range(20)]


@pytest.mark.parametrize(
    "code",
    [
        LAST_FIRST + "say(id=line['id'], text=line['id'].split('#')[0])",
        LAST_FIRST + "say(id=line['id'], object='chat.completion', choices=[{'message': {'content': line['id'].split('#')[0]}}])",
        "for line in questions: say(text=line['id'].split('#')[0])",
        "for line in questions: say(id='own', text=line['id'].split('#')[0])",
        "for line in questions: say(id=7, text=line['id'].split('#')[0])",
        "for line in questions:\n    for _ in range(3): say(id=line['id'], text=line['id'].split('#')[0])",
        "print('nobody'); say(text='asked'); open(sys.argv[1], 'w')\nfor line in questions: say(text=line['id'].split('#')[0])",
    ],
    ids=[
        "by id, in another order",
        "by id beside choices",
        "in order",
        "unknown ids",
        "ids that are not strings",
        "repeated ids",
        "unrequested",
    ],
)
def test_every_output_line_is_matched_to_its_request(program: Write, tmp_path: Path, code: str) -> None:
    begun = tmp_path / "begun"
    command = f"{program(code)} {begun}"
    outcomes: list[str] = []

    async def what(model: ProcessModel) -> None:
        if "nobody" in code:
            while not begun.exists():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
        outcomes.extend(await asyncio.gather(*[outcome_text(model, case) for case in CASES]))

    use(command, what)
    assert outcomes == CASES


def test_late_output_line_is_dropped(program: Write) -> None:
    async def run(named: str) -> list[str]:
        command = program(  # responds to the first request when it gets the second
            "import itertools\nlines = next(questions), next(questions)\n"
            f"for line in itertools.chain(lines, questions): say({named}text=line['id'].split('#')[0])\n"
        )
        async with ProcessModel(command, timeout=0.4) as model:
            return [await outcome_text(model, case) for case in ("slow", "a", "b", "c")]

    async def both() -> tuple[list[str], list[str]]:
        return await asyncio.gather(run("id=line['id'], "), run(""))  # by id, in order

    for late, *rest in asyncio.run(both()):
        assert "did not respond within 0.4 s" in late
        assert rest == ["a", "b", "c"]


def test_invalid_output_line_fails_one_request(program: Write) -> None:
    command = program(
        "for line in questions:\n    case = line['id'].split('#')[0]\n"
        "    if case == 'json': print('Loading \\x1b[31mmodel' + 'x' * 1000)\n"
        "    elif case == 'empty': say(id=line['id'])\n"
        "    elif case == 'error': say(id=line['id'], error='too busy')\n"
        "    else: say(id=line['id'], text=case)\n"
    )
    first, second, third, fourth = one_by_one(command, "json", "empty", "error", "a")
    assert first.startswith("agent0.py wrote 'Loading \\x1b[31mmodelxxx")
    assert "…', which is not a prediction: not valid JSON" in first
    assert len(first) < 400
    assert "text or error, got the key id" in second
    assert (third, fourth) == ("too busy", "a")


@pytest.mark.parametrize("size", [3 << 20, 20 << 20])
def test_endless_line_is_not_held_in_memory(program: Write, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    if size < process.MAX_LINE_BYTES:
        monkeypatch.setattr(process, "MAX_LINE_BYTES", 1 << 20)
    command = program(
        "lines = [next(questions) for _ in range(3)]\n"
        f"sys.stdout.write('{{\"id\": ' + json.dumps(lines[1]['id']) + ', \"text\": \"' + 'x' * {size} + '\"}}\\n')\n"
        "for line in (lines[2], lines[0]): say(id=line['id'], text='ok')\n"
    )
    first, second, third = predict_together(command, "a", "b", "c")
    assert (first, third) == ("ok", "ok")
    assert second.startswith(f'agent0.py wrote a line of more than {process.MAX_LINE_BYTES >> 20} MB: \'{{"id": "b#2"')
    assert len(second) < 400


def test_flood_on_standard_error_does_not_block(program: Write) -> None:
    command = program("for line in questions:\n    os.write(2, b'x' * (1 << 22))\n    say(text='ok')\n")
    assert one_by_one(command, "a", "b") == ["ok", "ok"]


@pytest.mark.usefixtures("shorter")
def test_flood_on_standard_output_does_not_pile_up(program: Write) -> None:
    command = program("next(questions)\nwhile True: os.write(1, b'y\\n' * 30000)\n")
    (sentence,) = predict_together(command, "a")
    assert "wrote 'y', which is not a prediction: " in sentence


@pytest.mark.usefixtures("shorter")
def test_process_that_never_reads_times_out(program: Write) -> None:
    big = Case("big", (Message("user", "x" * 500_000),))
    outcomes: list[str] = []

    async def what(model: ProcessModel) -> None:
        outcomes.extend(await asyncio.gather(*[outcome_text(model, big) for _ in range(3)]))

    use(program("time.sleep(60)"), what, timeout=0.1)
    expected = "agent0.py did not respond within 0.1 s. Check that it reads standard input line by line and flushes its output"
    assert outcomes == [expected] * 3


@pytest.mark.parametrize(
    "ending, sentence",
    [
        ("sys.exit(7)", "it exited with status 7"),
        ("sys.exit()", "it exited with status 0"),
        ("os.kill(os.getpid(), 9)", "it was killed by signal 9 (Killed)"),
        (
            "print('one', file=sys.stderr); sys.exit('two \\x1b[31m\\n\\n')",
            "it exited with status 1, standard error ends with 'two \\x1b[31m'",
        ),
        ("raise KeyError('x')", "it exited with status 1, standard error ends with \"KeyError: 'x'\""),
        ("os.close(1); time.sleep(60)", "it closed its output"),
    ],
)
def test_process_that_ends_fails_open_requests_and_is_restarted(
    program: Write, monkeypatch: pytest.MonkeyPatch, ending: str, sentence: str
) -> None:
    if "60" in ending:
        monkeypatch.setattr(process, "_EXIT_TIMEOUT", SHORT)
    command = program(  # exits after reading that many more requests
        "for line in questions:\n"
        "    case = line['id'].split('#')[0]\n"
        f"    if case.isdecimal():\n        for _ in range(int(case)): next(questions)\n        {ending}\n"
        "    say(id=line['id'], text='ok')\n"
    )
    outcomes: list[str] = []

    async def what(model: ProcessModel) -> None:
        outcomes.append(await outcome_text(model, "a"))
        outcomes.extend(await asyncio.gather(*[outcome_text(model, case) for case in ("2", "b", "c")]))
        outcomes.extend([await outcome_text(model, case) for case in ("d", "0", "e")])

    use(command, what)
    lost = f"agent0.py did not respond: {sentence}"
    assert outcomes == ["ok", lost, lost, lost, "ok", lost, "ok"]


def test_process_that_never_responds_is_fatal(program: Write, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    command = program(f"open({str(starts)!r}, 'a').write('.')\nsys.exit('no such model')")
    outcomes: list[str] = []

    async def what(model: ProcessModel) -> None:
        outcomes.extend([await outcome_text(model, "a") for _ in range(8)])

    use(command, what)
    end = "it exited with status 1, standard error ends with 'no such model'"
    assert outcomes[0] == f"agent0.py did not respond: {end}"
    assert outcomes[-1] == f"fatal: agent0.py was started 3 times and never returned a prediction; the last time, {end}"
    assert starts.read_text() == "..."


def test_program_that_cannot_be_started_is_rejected_on_entry(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    (tmp_path / "empty").write_text("")
    (tmp_path / "empty").chmod(0o755)
    for command, sentence in (
        ("no-such-program --key sk-123", "command not found: 'no-such-program'"),
        (str(tmp_path / "plain"), "cannot be started: Permission denied"),
        (str(tmp_path), "cannot be started: Permission denied"),
        (str(tmp_path / "empty"), "cannot be started: Exec format error"),
        ("a\0b", "cannot be started: embedded null byte"),
    ):
        with pytest.raises(BadInput) as error:
            predict_together(command)
        assert sentence in str(error.value)
        assert "sk-123" not in str(error.value)


@pytest.mark.parametrize(
    "command, timeout, sentence",
    [
        ("", 1.0, "cmd: the command is empty"),
        ("  ", 1.0, "cmd: the command is empty"),
        ("''", 1.0, "cmd: the command is empty"),
        ("python 'agent.py", 1.0, "cmd: invalid command: no closing quotation"),
        ("cat", 0.0, "cmd: timeout: expected more than 0 seconds, got 0"),
        ("cat", float("nan"), "cmd: timeout: expected more than 0 seconds, got nan"),
    ],
)
def test_invalid_command_is_rejected_at_once(command: str, timeout: float, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        ProcessModel(command, timeout=timeout)


def test_label_contains_the_program_and_no_arguments(program: Write) -> None:
    assert ProcessModel("/usr/bin/cat --key sk-123", timeout=1).label == "cmd-cat"
    model = ProcessModel(program("") + " --key sk-123", timeout=1)
    assert (model.label, model.fingerprint(Case("a"), 0)) == ("cmd-agent0.py", None)


def alive(pid: int) -> bool:
    """Return whether the process still runs after a while: a killed process is not gone at once."""
    for _ in range(500):
        if not exists(pid):
            return False
        time.sleep(0.01)
    return True


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    "ending, least",
    [("", 0.0), ("\nimport signal\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(60)", SHORT)],
    ids=["exits with its input", "does not exit"],
)
@pytest.mark.usefixtures("shorter")
def test_exiting_ends_the_process_and_its_children(program: Write, ending: str, least: float) -> None:
    command = program(
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
        f"for line in questions: say(text=f'{{os.getpid()}} {{child.pid}}')\n{ending}"
    )
    outcomes: list[str] = []
    left: list[float] = []

    async def run() -> None:
        async with ProcessModel(command, timeout=20) as model:
            outcomes.append(await outcome_text(model, "a"))
            left.append(time.monotonic())

    asyncio.run(run())
    took = time.monotonic() - left[0]
    assert [alive(int(pid)) for pid in outcomes[0].split()] == [False, False]
    assert least <= took < 10
    with pytest.raises(ChildProcessError):  # no zombie
        os.waitpid(int(outcomes[0].split()[0]), os.WNOHANG)


@pytest.mark.usefixtures("shorter")
def test_children_that_keep_the_output_open_end_with_the_process(program: Write) -> None:
    command = program(
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nnext(questions)\n"
        "say(text=str(child.pid))\nfor _ in range(3): next(questions)\nos._exit(3)\n"
    )

    async def what(model: ProcessModel) -> None:
        child = int(await outcome_text(model, "a"))
        lost = await asyncio.gather(*[outcome_text(model, case) for case in ("b", "c", "d")])
        assert lost == ["agent0.py did not respond: it exited with status 3"] * 3
        assert not alive(child)
        assert int(await outcome_text(model, "e")) != child  # restarted

    use(command, what)


def test_process_model_causes_no_warnings_at_exit(program: Write) -> None:
    answering = program("for line in questions: say(id=line['id'], text='ok')")
    ending = program("next(questions)\nsys.exit(1)")
    hanging = program("time.sleep(60)")
    code = (
        "import asyncio\nfrom callmark.models import process\nfrom callmark.models.model import ModelError\n"
        f"from callmark.models.process import ProcessModel\nfrom callmark.types import Case\nprocess._EXIT_TIMEOUT = {SHORT}\n"
        'from callmark.models.agent_output import read_output\nread_output(b\'{"text": "ok"}\')\n'  # its imports would block the loop
        "async def run(command):\n"
        "    asyncio.get_running_loop().slow_callback_duration = 60\n"  # starting a process takes long on a busy machine
        "    async with ProcessModel(command, timeout=.2) as model:\n"
        "        for error in await asyncio.gather(*[model.predict(Case('a')) for _ in range(5)], return_exceptions=True):\n"
        "            assert not isinstance(error, Exception) or isinstance(error, ModelError), error\n"
        "async def cancelled(command):\n"
        "    task = asyncio.create_task(run(command))\n"
        "    await asyncio.sleep(.1)\n"
        "    task.cancel()\n"
        "    await asyncio.wait([task])\n"
        f"asyncio.run(run({answering!r}), debug=True)\nasyncio.run(run({ending!r}), debug=True)\n"
        f"asyncio.run(cancelled({hanging!r}), debug=True)\n"
        "import gc; gc.collect()\n"
    )
    done = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_many_requests_are_open_concurrently(program: Write) -> None:
    command = program(
        "import threading\n"
        "def answer(line):\n    time.sleep(.2)\n"
        "    os.write(1, (json.dumps({'id': line['id'], 'text': line['id'].split('#')[0]}) + '\\n').encode())\n"
        "for line in questions: threading.Thread(target=answer, args=(line,)).start()\n"
    )
    began = time.monotonic()
    assert predict_together(command, *CASES) == CASES
    assert time.monotonic() - began < 3
