"""`callmark demo`: short output, a report, commands to try next; `--verbose`; failing steps."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

import callmark
from callmark.cli import demo
from callmark.data.lint import CODES
from tests.conftest import Cli

MAX_LINES, COLUMNS = 90, 120


def count_lines(text: str) -> int:
    """Return the number of lines on a terminal, where long ones are wrapped."""
    return sum(max(1, -(-len(line) // COLUMNS)) for line in text.splitlines())


def next_commands(text: str) -> list[list[str]]:
    """Return the commands that a demo suggests, without `callmark`."""
    return [shlex.split(line)[1:] for line in text.partition("Next, try:\n")[2].splitlines()]


def shrink_demo(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    """Replace a number in the steps of a demo: `make demo` runs them as they are."""
    steps = tuple(step._replace(command=step.command.replace(old, new)) for step in demo.DEMOS[name].steps)
    assert steps != demo.DEMOS[name].steps
    monkeypatch.setitem(demo.DEMOS, name, demo.DEMOS[name]._replace(steps=steps))


SMALLER = {"store": ("-n 120 ", "-n 60 "), "chatbot": ("--trials 3 ", "--trials 1 ")}
RESULTS = {
    "store": ("60 conversations → callmark-demo/data", "No findings", "10 findings: 6 errors", " fixed · ", "✓ call.score"),
    "hotel": ("32 conversations · 10 tools called", "10 findings: ", "EXPECTED", "scripted-perfect is better than scripted-hasty: "),
    "chatbot": ("54 scenarios → ", "sloppy is worse than careful: process.reliability 1 → "),
}
STEPS = {
    "store": ["synth", "stats", "show", "lint", "lint", "filter", "expand", "show", "run", "compare", "gate", "report"],
    "hotel": ["stats", "show", "lint", "filter", "expand", "show", "run", "report"],
    "chatbot": ["synth", "simulate", "report"],
}
FILES = {
    "store": ("data/train.jsonl", "data/valid.jsonl", "good.jsonl", "eval.jsonl"),
    "hotel": ("good.jsonl", "rejects.jsonl", "eval.jsonl"),
    "chatbot": tuple(f"runs/careful-*/{name}" for name in ("evaluation_results.json", "evaluation_metrics.json", "predictions.jsonl")),
}


@pytest.mark.parametrize("name", demo.DEMOS)
def test_demo_fits_two_screens_and_ends_with_a_report_and_next_commands(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if name in SMALLER:
        shrink_demo(monkeypatch, name, *SMALLER[name])
    done = cli("demo", name)
    assert (done.status, done.err) == (0, "")
    assert count_lines(done.out) <= MAX_LINES
    steps = re.findall(r"^\d+\. .+\n\$ callmark (\w+) .*((?:\n  .+)*)\n\n", done.out, re.MULTILINE)
    assert [step for step, _ in steps] == STEPS[name]
    assert all(1 <= result.count("\n") <= demo.MAX_RESULT for _, result in steps)
    for text in RESULTS[name]:
        assert text in done.out
    report = re.search(r"^Report: (\S+) \(open it in a browser\)$", done.out, re.MULTILINE)
    assert report is not None
    page = Path(report[1]).read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert all(run.name in page for run in Path("callmark-demo/runs").iterdir())
    for file in FILES[name]:
        assert list(Path("callmark-demo").glob(file)), file
    view, *others = next_commands(done.out)
    assert view == ["view", "callmark-demo/runs"]
    assert len(others) == 2
    for arguments in others:
        assert cli(*arguments).status == 0
    serve = importlib.import_module("callmark.viewer.server")
    monkeypatch.setattr(serve, "serve", lambda runs, listener, token, on_ready: listener.close())
    assert cli(*view, "--no-browser").status == 0


def test_store_demo_synthesizes_a_clean_dataset(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shrink_demo(monkeypatch, "store", *SMALLER["store"])
    monkeypatch.setitem(demo.DEMOS, "store", demo.DEMOS["store"]._replace(steps=demo.DEMOS["store"].steps[:1], next_commands=()))
    assert cli("demo").status == 0
    train, valid = (callmark.stats(callmark.load(f"callmark-demo/data/{name}.jsonl")) for name in ("train", "valid"))
    assert train.conversations + valid.conversations == 60
    assert len(train.tools) == 15
    assert callmark.lint(callmark.load("callmark-demo/data/train.jsonl")).findings == []


def test_verbose_prints_what_each_command_prints(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("demo", "hotel", "--verbose")
    assert done.status == 0
    assert cli("stats", "callmark-demo/hotel.jsonl").out in done.out
    assert cli("lint", "callmark-demo/hotel.jsonl").out in done.out
    assert done.out.count("\n") > 3 * MAX_LINES


@pytest.mark.parametrize("verbose", [[], ["--verbose"]])
@pytest.mark.parametrize(
    "command, status, message",
    [
        ("stats {folder}/missing.jsonl", 2, "missing.jsonl"),
        ("lint {folder}/hotel.jsonl --strict", 2, "callmark: callmark lint ended with exit status 1.\n"),
    ],
)
def test_failing_step_fails_the_demo(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, status: int, message: str, verbose: list[str]
) -> None:
    steps = (demo.Step("It fails.", command, ("nothing",)), demo.Step("Not run.", "stats {folder}/hotel.jsonl", ()))
    monkeypatch.setitem(demo.DEMOS, "hotel", demo.DEMOS["hotel"]._replace(steps=steps))
    done = cli("demo", "hotel", "-o", tmp_path, *verbose)
    assert done.status == status
    assert message in done.err
    assert "Not run." not in done.out
    assert ("hallucinated_value" in done.out) is command.startswith("lint")  # the output of the failing step


def test_demo_does_not_overwrite_existing_data(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a{b} c"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "synth.json").write_text("{}")
    monkeypatch.setattr(
        demo,
        "DEMOS",
        {
            "store": demo.DEMOS["store"]._replace(
                steps=(demo.Step("Draw charts.", "stats {folder}/hotel.jsonl --charts {data}", ()),), next_commands=()
            )
        },
    )
    assert cli("demo", "-o", folder).status == 0
    assert [path.name for path in (folder / "data").iterdir()] == ["synth.json"]
    assert (folder / "data-2" / "tools.svg").exists()


def test_demo_reports_an_unwritable_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = cli("demo", "-o", tmp_path / "taken")
    assert done.status == 2
    assert done.err == f"callmark: -o: expected a folder, got the file {tmp_path / 'taken'}.\n"


def test_demo_replaces_its_own_files_and_no_others(cli: Cli, tmp_path: Path) -> None:
    assert cli("demo", "hotel", "-o", tmp_path).status == 0
    assert cli("demo", "hotel", "-o", tmp_path).status == 0
    (tmp_path / "eval.jsonl").write_text("mine\n")
    done = cli("demo", "hotel", "-o", tmp_path)
    assert done.status == 2
    assert done.err.startswith(f"callmark: {tmp_path}/eval.jsonl already exists, and was not written by the demo.\n")
    assert (tmp_path / "eval.jsonl").read_text() == "mine\n"


def test_hotel_dataset_has_one_planted_flaw_of_each_kind() -> None:
    path = Path(callmark.__file__).parent / "worlds" / "hotel" / "hotel.jsonl"
    report = callmark.lint(callmark.load(path))
    assert set(report.summary.values()) == {1}
    assert CODES.keys() - report.summary.keys() == {
        "broken_row",
        "bad_schema",
        "orphan_result",
        "repeated_key",
        "duplicate_id",
        "near_duplicate",
        "leak",
        "tools_change",
    }
