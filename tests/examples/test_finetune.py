"""The data, the budget and the files of `make finetune`, without training anything."""

import argparse
import json
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from examples.finetune.__main__ import (
    Counted,
    RefusedError,
    Result,
    _count,
    describe,
    main,
    read_budget,
    training_time,
)
from examples.finetune.curve import curve_svg
from examples.finetune.data import MAX_CHARACTERS, Counts, Sizes, Turn, prepare, prompt, shorten, without_leaks
from examples.finetune.train import sequences

import callmark
from callmark import Case, Conversation
from callmark.training_data.leaks import TestSet

SIZES = Sizes(conversations=24, held_out=4, validation=3)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Counts]:
    folder = tmp_path_factory.mktemp("finetune")
    return folder, prepare(folder, SIZES)


def held_out_cases(folder: Path) -> list[Case]:
    return [row for row in callmark.load(folder / "held-out.jsonl", cases=True) if isinstance(row, Case)]


def read_turns(folder: Path, name: str) -> list[list[Turn]]:
    return msgspec.json.decode((folder / f"{name}.json").read_bytes(), type=list[list[Turn]])


def first_words(turns: list[Turn]) -> str:
    """Return what the user said first: every conversation begins differently."""
    return turns[0].messages[1]["content"]


def test_parts_share_no_conversation_and_no_decision_point(data: tuple[Path, Counts]) -> None:
    folder, counts = data
    train, validation = (read_turns(folder, name) for name in ("train", "validation"))
    held_out = held_out_cases(folder)
    begins = [{first_words(turns) for turns in part} for part in (train, validation)]
    begins.append({case.messages[1].text for case in held_out})
    assert [len(part) for part in begins] == [counts.train, SIZES.validation, counts.held_out]
    assert len(set.union(*begins)) == sum(map(len, begins))
    tests = TestSet(held_out)
    learned = [row for name in ("train", "valid") for row in callmark.load(folder / "learning" / f"{name}.jsonl")]
    assert not [tests.leak(case) for row in learned for case in callmark.expand([row]) if tests.leak(case)]
    assert counts.held_out == SIZES.held_out


def test_conversation_with_a_held_out_decision_point_is_not_trained_on(data: tuple[Path, Counts]) -> None:
    folder, _ = data
    held_out = list(callmark.load(folder / "parts" / "valid.jsonl"))
    train = list(callmark.load(folder / "learning" / "train.jsonl"))
    kept, leaks = without_leaks([*train, held_out[0]], held_out)
    assert kept == train
    assert sum(leaks.values()) == 1


def test_training_prompt_is_the_request_of_a_run(data: tuple[Path, Counts]) -> None:
    folder, _ = data
    model = callmark.ModelSettings(model="http://localhost:1/v1#smollm2", tools_in_prompt="free")
    out = folder / "batch.jsonl"
    callmark.export_batch(folder / "learning" / "train.jsonl", model, out)
    requests = [json.loads(line)["body"]["messages"] for line in out.read_text(encoding="utf-8").splitlines()]
    learned = [turn.messages for turns in read_turns(folder, "train") for turn in turns if turn.is_call]
    assert learned
    assert all(messages in requests for messages in learned)


def test_completion_is_what_the_next_prompt_repeats_and_grades_as_correct(data: tuple[Path, Counts]) -> None:
    folder, _ = data
    for turns in read_turns(folder, "train")[:5]:
        for turn, following in pairwise(turns):
            assert following.messages[len(turn.messages)] == {"role": "assistant", "content": turn.completion}
    rows = list(callmark.load(folder / "learning" / "train.jsonl"))[:5]
    for row, turns in zip(rows, read_turns(folder, "train"), strict=False):
        expected = [case.expected for case in callmark.expand([row])]
        calls = [turn.completion for turn in turns if turn.is_call]
        for want, said in zip(expected, calls, strict=False):
            assert callmark.grade(list(want), said, tools=row.tools).metrics["call.score"] == 1


def test_prompts_are_short_and_every_case_is_a_call_or_the_last_turn_without_one(data: tuple[Path, Counts]) -> None:
    folder, counts = data
    cases = held_out_cases(folder)
    assert all(sum(len(message["content"]) for message in prompt(case)) <= MAX_CHARACTERS for case in cases)
    without = [case.source.conversation for case in cases if case.source and not case.expected]
    assert len(without) == len(set(without)) == counts.replies
    assert len(cases) == counts.calls + counts.replies


def test_same_seed_gives_the_same_data(data: tuple[Path, Counts], tmp_path: Path) -> None:
    folder, counts = data
    assert prepare(tmp_path, SIZES) == counts
    for name in ("train.json", "validation.json", "held-out.jsonl"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_shortened_row_keeps_every_value() -> None:
    function = {
        "name": "get_order",
        "description": "Get an order. Returns an error if there is none.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string", "description": "The number"}}, "required": ["id"]},
    }
    result = {"role": "tool", "content": '{"id": "#W1", "price": 2.50, "note": "è"}', "tool_call_id": "1"}
    plain = {"role": "tool", "content": "Error: no such order", "tool_call_id": "2"}
    user = {"role": "user", "content": '{"a":  1}'}
    short = shorten({"id": "c", "tools": [{"type": "function", "function": function}], "messages": [user, result, plain]})
    assert [message["content"] for message in short["messages"]] == [
        '{"a":  1}',
        '{"id":"#W1","price":2.5,"note":"è"}',
        "Error: no such order",
    ]
    [tool] = short["tools"]
    assert tool["function"]["description"] == "Get an order."
    assert tool["function"]["parameters"]["properties"] == {"id": {"type": "string"}}
    assert tool["function"]["parameters"]["required"] == ["id"]


@pytest.mark.parametrize("text, seconds", [("20m", 1200), ("1800s", 1800), ("0.5h", 1800), (" 1m ", 60)])
def test_budget_is_read(text: str, seconds: float) -> None:
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "20", "m", "0m", "-5m", "20 minutes"])
def test_budget_that_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected a time such as 20m"):
        read_budget(text)


def test_unreadable_budget_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--python", "python", "--budget", "soon"])
    assert ended.value.code == 2
    assert "argument --budget: expected a time such as 20m, 1800s or 0.5h, got 'soon'" in capsys.readouterr().err


def test_training_gets_what_the_runs_leave() -> None:
    assert training_time(1200, 250, 200) == 1200 - 250 - 200 - 30
    with pytest.raises(RefusedError, match=r"leave 0 s for training; try BUDGET=\d+m") as caught:
        training_time(600, 400, 300)
    needed = float(str(caught.value).split("BUDGET=")[1].removesuffix("m")) * 60
    assert training_time(needed, 400, 300) >= 120


def test_counts_of_a_run_separate_calls_from_turns_without_one(data: tuple[Path, Counts], tmp_path: Path) -> None:
    folder, counts = data
    run = callmark.run(folder / "held-out.jsonl", "scripted:perfect", out=tmp_path, name="perfect")[0]
    assert _count(run) == Counted(1.0, counts.calls, counts.calls, counts.replies, 0)


def test_outcome_is_told_with_interval_and_p_value() -> None:
    base, tuned = Counted(0.2, 100, 1, 25, 5), Counted(0.7, 100, 60, 25, 2)
    told = describe(Result(base, tuned, 0.5, 0.4, 0.6, 0.0001, 28, 1200, 600))
    assert "calls exactly right: base 1 of 100, tuned 60 of 100" in told
    assert "call.score: base 0.200, tuned 0.700, difference +0.500 [+0.400, +0.600], p = 0.0001 (28 held-out conversations)" in told
    assert "[" not in describe(Result(base, tuned, 0.5, None, None, 1.0, 2, 60, 30))


def test_learning_curve_is_an_svg_with_a_dot_for_each_step() -> None:
    curve = [{"step": step, "calls": 10, "exact_calls": step // 5, "loss": 1 - step / 50} for step in (0, 20, 40)]
    for points in (curve, curve[:1]):
        root = ElementTree.fromstring(curve_svg(points))
        assert len(root.findall(".//{http://www.w3.org/2000/svg}circle")) == 2 * len(points)


class Characters:
    """A tokenizer with one token per character, and a template that lists the messages."""

    def convert_tokens_to_ids(self, token: str) -> int:
        return ord("|")

    def apply_chat_template(self, messages: list[dict[str, str]], **options: Any) -> str:
        return "".join(f"{message['role'][0]}:{message['content']}|" for message in messages) + "a:"

    def __call__(self, text: str, **options: Any) -> Any:
        return argparse.Namespace(input_ids=[ord(each) for each in text])


def turn(completion: str, *messages: tuple[str, str], is_call: bool = True) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in messages], "completion": completion, "is_call": is_call}


def completions(text: str, found: list[tuple[int, int, bool]]) -> Iterator[tuple[str, bool]]:
    for first, last, is_call in found:
        yield text[first:last], is_call


def test_turns_of_a_conversation_are_one_sequence_with_each_completion_marked() -> None:
    first = turn("CALL", ("user", "hi"))
    second = turn("bye", ("user", "hi"), ("assistant", "CALL"), ("user", "ok"), is_call=False)
    [found] = sequences([[first, second]], Characters())
    text = "".join(map(chr, found.tokens))
    assert text == "u:hi|a:CALL|u:ok|a:bye|"
    assert list(completions(text, found.completions)) == [("CALL|", True), ("bye|", False)]


def test_turn_with_another_history_is_a_sequence_of_its_own() -> None:
    first, other = turn("CALL", ("user", "hi")), turn("bye", ("user", "hello"), ("assistant", "CALL"))
    found = sequences([[first, other]], Characters())
    assert ["".join(map(chr, each.tokens)) for each in found] == ["u:hi|a:CALL|", "u:hello|a:CALL|a:bye|"]


@pytest.mark.skipif(find_spec("gguf") is None, reason="gguf is not installed: it is in the environment of make finetune")
def test_written_gguf_has_the_change_and_everything_else_as_it_was(tmp_path: Path) -> None:
    import gguf
    import numpy
    from examples.finetune.gguf_file import interleave, write_with_changes

    source, target = tmp_path / "base.gguf", tmp_path / "tuned.gguf"
    generator = numpy.random.default_rng(7)
    writer = gguf.GGUFWriter(source, "llama")
    writer.add_chat_template("{{ messages }}")
    writer.add_token_list(["a", "b"])
    query, norm = (generator.standard_normal(shape).astype("float32") for shape in ((64, 64), (64,)))
    writer.add_tensor("blk.0.attn_q.weight", query)
    writer.add_tensor("blk.0.attn_norm.weight", norm)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    change = generator.standard_normal((64, 64)).astype("float32")
    write_with_changes(source, target, {"blk.0.attn_q.weight": change}, heads={"attn_q": 2})
    reader = gguf.GGUFReader(target)
    assert reader.fields["tokenizer.chat_template"].contents() == "{{ messages }}"
    assert reader.fields["tokenizer.ggml.tokens"].contents() == ["a", "b"]
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    assert (tensors["blk.0.attn_norm.weight"].data == norm).all()
    written = gguf.quants.dequantize(tensors["blk.0.attn_q.weight"].data, tensors["blk.0.attn_q.weight"].tensor_type)
    assert numpy.abs(written - (query + interleave(change, 2))).max() < 0.05
    with pytest.raises(ValueError, match=r"no weights named blk\.9"):
        write_with_changes(source, target, {"blk.9.attn_q.weight": change}, heads={})


def test_interleaved_rows_alternate_between_the_halves_of_each_head() -> None:
    import numpy
    from examples.finetune.gguf_file import interleave

    rows = numpy.arange(8).reshape(8, 1)
    assert interleave(rows, 2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_conversation_without_calls_leaks_nothing() -> None:
    row = Conversation("c", ())
    assert without_leaks([row], []) == ([row], {})


def test_folder_with_anything_else_is_not_emptied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert main(["--python", "python3", "-o", str(tmp_path)]) == 2
    assert "already exists, and is not the folder of a fine-tune" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
