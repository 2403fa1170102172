"""The report: one self-contained file in which nothing runs but the page itself."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.runs.compare import compare_runs
from callmark.runs.run import Run
from callmark.viewer.bounded_heap import BoundedHeap
from callmark.viewer.bundle import bundle_script, page_around_data, page_files
from callmark.viewer.report import write_report
from tests.graded_runs import make_run, some
from tests.rows import call, user
from tests.viewer.grading_helpers import case, grade_run, predicted, write_conversations

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u2028\u2029\u202e\x1b[31m",
    "\\ud800",
    "]]>&lt;",
]


class Page(HTMLParser):
    """The elements of a page as a browser would parse them, and the contents of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.inside: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self.policy = ""
        self._open: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset", "poster")]
        self._open = {"tag": tag, **dict(attrs)} if tag in ("script", "style") else None
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"] or ""

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.inside.append((self._open, data))
            self._open = None

    @property
    def data(self) -> Any:
        return json.loads(next(text for found, text in self.inside if found.get("id") == "callmark-data"))


def report(tmp_path: Path, *runs: Run, **more: Any) -> Page:
    out = tmp_path / "report.html"
    write_report(runs, str(out), **more)
    return Page(out.read_bytes().decode())


def bonn(city: str = "Bonn") -> dict[str, Any]:
    return call("get_weather", {"city": city})


def test_report_contains_the_whole_run(tmp_path: Path) -> None:
    run = grade_run(
        tmp_path, write_conversations(tmp_path / "conversations.jsonl"), [predicted(f"t{n}:1", bonn(f"Bonn{n}")) for n in range(3)]
    )
    data = report(tmp_path, run).data
    assert [one["name"] for one in data["runs"]] == ["base"]
    assert data["rows"]["base"]["total"] == len(data["rows"]["base"]["id"]) == 9
    assert set(data["cases"]["base"]) == {f"{case}#0" for case in data["rows"]["base"]["id"]}
    assert len(data["conversations"]) == 3  # each once
    found = data["cases"]["base"]["t1:3.1#0"]
    messages = data["conversations"][found["conversation"]]
    assert [message["text"] for message in messages[: found["prompt_length"]] + found["prompt_tail"]] == [
        "How is Bonn1, and then Ulm?", "", "sunny", "And Ulm.", "rain",
    ]  # fmt: skip
    assert found["error"] == "no prediction"
    assert data["left_out"] == {"conversations": 0, "all_conversations": 3, "cases": 0, "all_cases": 9}
    assert (data["comparison"], data["comparison_problem"]) == (None, "")


def test_policy_allows_only_the_page_itself(tmp_path: Path) -> None:
    page = report(tmp_path, Run(make_run(tmp_path / "a", some(2, of=4))))
    scripts = {found.get("type") or found["tag"]: text for found, text in page.inside}
    assert set(scripts) == {"module", "style", "application/json"}
    for kind in ("module", "style"):
        assert f"'sha256-{b64encode(sha256(scripts[kind].encode()).digest()).decode()}'" in page.policy
    assert page.policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in page.policy
    assert not {"iframe", "object", "embed", "base"} & set(page.tags)
    assert [address for address in page.addresses if not address.startswith(("#", "data:"))] == []


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_data_stays_data(tmp_path: Path, hostile: str) -> None:
    cases = [
        case(hostile, [call("get_weather", {"city": hostile})], messages=[user(hostile)]),
        case("error", [bonn()]),
        case("b", [call("get_weather", {hostile: 10**17})]),
    ]
    answers = [
        predicted(hostile, call(hostile, {hostile: hostile}), text=hostile, thinking=hostile, finish_reason=hostile),
        {"case": "error", "error": hostile},
        predicted("b", call("get_weather", '{"' + hostile)),
    ]
    run = grade_run(tmp_path, cases, answers)
    plain = report(tmp_path, Run(make_run(tmp_path / "plain", some(1, of=2))))
    page = report(tmp_path, run)
    assert page.tags == plain.tags
    data = page.data
    found = data["cases"]["base"][f"{hostile}#0"]
    assert (found["text"], found["actual"][0]["name"], found["actual"][0]["arguments"]) == (hostile, hostile, {hostile: hostile})
    assert data["conversations"][found["conversation"]][0]["text"] == hostile
    assert data["cases"]["base"]["error#0"]["error"] == hostile.strip()
    assert data["cases"]["base"]["b#0"]["expected"][0]["arguments"] == {hostile: str(10**17)}


def test_lone_surrogates_are_escaped_and_long_texts_cut(tmp_path: Path) -> None:
    word = "w" * 1_000_000
    cases = [case("a\ud800", [bonn()], messages=[user("\ud800")]), case(word, [bonn(word)], messages=[user(word)])]
    run = grade_run(
        tmp_path, cases, [predicted("a\ud800", bonn("\ud800"), text="x\udfff"), predicted(word, call(word, {word: word}), text=word)]
    )
    page = report(tmp_path, run)
    rows = page.data["rows"]["base"]
    assert len(json.dumps(rows)) < 10_000
    one, other = (page.data["cases"]["base"][f"{name}#0"] for name in rows["id"])
    assert (one["id"], one["text"]) == ("a\\ud800", "x\\udfff")
    assert other["text"].endswith("w… (+800,000 characters left out)")
    assert len(page.data["conversations"][other["conversation"]][0]["text"]) < 201_000


def test_lowest_scores_are_included_and_the_table_has_every_case(tmp_path: Path) -> None:
    cases = [case(f"c{n}", [bonn()], messages=[user(f"{n} " * 2000)]) for n in range(20)]
    run = grade_run(tmp_path, cases, [predicted(f"c{n}", *([bonn()] if n % 5 else [])) for n in range(20)])
    data = report(tmp_path, run, max_bytes=18_000).data
    included = {name for name, one in data["cases"]["base"].items() if one["conversation"] is not None}
    assert {"c0#0", "c5#0", "c10#0"} <= included <= {"c0#0", "c5#0", "c10#0", "c15#0"}
    assert data["left_out"]["all_conversations"] == data["left_out"]["all_cases"] == 20
    assert data["left_out"]["conversations"] == 20 - len(data["conversations"])
    assert data["left_out"]["cases"] == 20 - len(data["cases"]["base"])
    assert len(data["rows"]["base"]["id"]) == 20


def test_run_without_its_dataset_has_no_conversations(tmp_path: Path) -> None:
    run = grade_run(tmp_path, [case("a", [bonn()])], [predicted("a", bonn("Ulm"))])
    (tmp_path / "base-cases.jsonl").unlink()
    data = report(tmp_path, run).data
    assert "is missing" in data["runs"][0]["problem"]
    assert data["conversations"] == {}
    assert data["cases"]["base"]["a#0"]["actual"][0]["code"] == 'get_weather(city="Ulm")'
    assert data["cases"]["base"]["a#0"]["conversation"] is None


def test_runs_of_one_dataset_share_its_conversations_and_are_compared(tmp_path: Path) -> None:
    file = write_conversations(tmp_path / "conversations.jsonl")
    base = grade_run(tmp_path, file, [predicted("t0:1", bonn("Ulm")), predicted("t1:1", bonn("Bonn1"))])
    tuned = grade_run(tmp_path, file, [predicted("t0:1", bonn("Bonn0")), predicted("t1:1", bonn("Bonn1"))], "tuned")
    data = report(tmp_path, base, tuned).data
    assert len(data["conversations"]) == 3
    (against,) = compare_runs([base, tuned])
    change = against.comparison.metrics["call.score"]
    assert data["comparison"]["metrics"][0]["changes"] == [
        {
            "run": "tuned",
            **{name: getattr(change, name) for name in ("before", "after", "difference", "low", "high", "p")},
            "direction": "within noise",
        }
    ]
    assert (data["comparison"]["fixed"], data["comparison"]["broken"]) == ({"tuned": 1}, {"tuned": 0})


def test_run_of_a_changed_dataset_has_no_conversations(tmp_path: Path) -> None:
    file = write_conversations(tmp_path / "conversations.jsonl")
    old = grade_run(tmp_path, file, [predicted("t0:1", bonn("Ulm"))])
    file.write_text(file.read_text().replace("sunny", "windy"))
    new = grade_run(tmp_path, file, [predicted("t0:1", bonn("Ulm"))], "new")
    data = report(tmp_path, old, new).data
    assert [bool(run["problem"]) for run in data["runs"]] == [True, False]
    assert data["cases"]["base"]["t0:1#0"]["conversation"] is None
    assert data["cases"]["new"]["t0:1#0"]["conversation"] in data["conversations"]


def test_report_warns_about_a_changed_dataset(tmp_path: Path) -> None:
    run = grade_run(tmp_path, [case("a", [bonn()])], [predicted("a", bonn("Ulm"))])
    assert callmark.report(run, out=tmp_path / "r.html").warnings == ()
    file = tmp_path / "base-cases.jsonl"
    file.write_text(file.read_text().replace("Bonn", "Kiel"))
    (warning,) = callmark.report(run, out=tmp_path / "r.html").warnings
    assert warning == (
        f"{run.folder}: The dataset {file} has changed since the run. Its conversations are not shown. "
        "Expected values are shown only where a fault names them."
    )


def test_report_of_runs_without_common_cases_says_why(tmp_path: Path) -> None:
    one = Run(make_run(tmp_path / "one", some(2, of=4)))
    other = Run(make_run(tmp_path / "x" / "one", [], digest="two"))
    data = report(tmp_path, one, other).data
    assert data["comparison"] is None
    assert data["comparison_problem"].startswith("no case is scored in both")
    assert [run["name"] for run in data["runs"]] == ["one", "one (2)"]  # the same name in different folders


def test_trials_of_a_scenario_have_their_own_conversations(tmp_path: Path) -> None:
    scenario = {
        "id": "s",
        "scenarioType": "weather",
        "instructions": "Ask for the weather.",
        "task_completion_condition": "It was told.",
        "expected_function_calls": [{"name": "get_weather", "arguments": {"city": "Bonn"}}],
    }
    transcript = [user("Bonn?"), {"role": "assistant", "content": "", "tool_calls": [bonn()]}]
    run = grade_run(tmp_path, [scenario], [predicted("s", bonn(), trial=trial, transcript=transcript[: 2 - trial]) for trial in (0, 1)])
    data = report(tmp_path, run).data
    assert data["runs"][0]["case_kind"] == "scenarios"
    assert data["rows"]["base"]["trial"] == [0, 1]
    transcripts = [data["conversations"][data["cases"]["base"][f"s#{trial}"]["conversation"]] for trial in (0, 1)]
    assert [len(messages) for messages in transcripts] == [2, 1]
    found = data["cases"]["base"]["s#0"]
    assert (found["prompt_length"], found["instructions"], found["completion"]) == (None, "Ask for the weather.", "It was told.")
    assert data["runs"][0]["names"]["scenario_types"] == ["weather"]
    assert [one["k"] for one in data["runs"][0]["pass_at_k"]] == [1, 2]


@pytest.mark.parametrize("runs, message", [(0, "at least one run"), (2, "given twice")])
def test_no_run_and_the_same_run_twice_are_refused(tmp_path: Path, runs: int, message: str) -> None:
    run = Run(make_run(tmp_path / "a", some(1, of=2)))
    with pytest.raises(BadInput, match=message):
        write_report([run] * runs, str(tmp_path / "r.html"))
    assert not (tmp_path / "r.html").exists()


def test_unreadable_grade_leaves_no_partial_report(tmp_path: Path) -> None:
    run = Run(make_run(tmp_path / "a", some(1, of=2)))
    with (tmp_path / "a" / "grades.jsonl").open("a") as grades:
        grades.write("{broken\n")
    with pytest.raises(BadInput, match="line 3: not a valid grade"):
        write_report([run], str(tmp_path / "r.html"))
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_heap_keeps_the_lowest_scores() -> None:
    heap = BoundedHeap(30)
    for key, score in [("a", 1.0), ("b", 0.5), ("c", 1.0), ("d", 0.5), ("e", 0.0), ("f", 0.5)]:
        assert heap.accepts(score) is (key != "f")
        heap.add(key, score, b"0123456789")
    assert set(heap.items) == {"b", "d", "e"}
    heap.add("too large", 0.0, b"0" * 31)
    assert (heap.offered, heap.dropped) == (7, 4)


PARTS = {
    "index.html": '<head><meta charset="utf-8"><link rel="stylesheet" href="page/page.css"></head>'
    '<script type="module" src="page/main.js"></script>',
    "page.css": "a{}",
    "main.js": 'import { b } from "./b.js";\nb();\n',
    "b.js": 'import { c } from "./c.js";\nexport function b() { c(); }\n',
    "c.js": "export const c = () => 1;\n",
}


def test_modules_follow_those_they_import() -> None:
    assert " ".join(bundle_script(PARTS).split()) == "const c = () => 1; function b() { c(); } b();"


@pytest.mark.parametrize(
    "part, text, message",
    [
        ("c.js", 'import { b } from "./b.js";\nexport const c = 1;', "circular import"),
        ("c.js", "export default 1;", "cannot be bundled"),
        ("c.js", "export { b as c };", "cannot be bundled"),
        ("c.js", 'import "https://example.org/x.js";', "cannot be bundled"),
        ("c.js", 'export const c = "</script>";', "would end the script"),
        ("index.html", '<meta charset="utf-8">', "exactly once"),
    ],
)
def test_page_that_cannot_be_bundled_is_refused(part: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        page_around_data({**PARTS, part: text})


def test_top_level_names_of_the_page_are_unique() -> None:
    names = re.findall(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", "\n".join(page_files().values()), re.MULTILINE)
    assert len(names) > 20
    assert {name for name in names if names.count(name) > 1} == set()
