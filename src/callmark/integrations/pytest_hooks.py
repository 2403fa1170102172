"""The hooks of the pytest plugin: a mark that runs a model on the cases of a file, one test per case, and `--callmark-report`.

    @pytest.mark.callmark("eval.jsonl", model="python:my_agent:predict")
    def test_agent(): ...

pytest imports this module (by `pytest_plugin`) whenever callmark is installed, so it imports nothing more of callmark before a test has
the mark.

With pytest-xdist, each worker runs the cases of its own tests and saves the predictions in a folder that all processes share. At the end,
the main process grades all of them together, for the thresholds and the report.
"""

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from callmark.integrations.pytest_sets import CaseResult, CaseSet

MARK, FIXTURE = "callmark", "callmark_result"
_FOLDER = "callmark_folder"  # key of a worker's input
_sets: "pytest.StashKey[dict[str, CaseSet]]" = pytest.StashKey()
_folder = pytest.StashKey[str]()
_lines = pytest.StashKey[list[tuple[str, bool]]]()  # for the terminal: text, and whether it is a failure


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--callmark-report`."""
    parser.getgroup("callmark").addoption(
        "--callmark-report", metavar="FILE", help="Write an HTML report of all tests with @pytest.mark.callmark to FILE."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line(
        "markers",
        "callmark(cases, *, model=..., agent=..., predictions=..., trials=1, min={}, max_errors=0): "
        "run a model or an agent on the cases of a file, with one test per case.",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist which folder all processes share."""
    node.workerinput[_FOLDER] = _shared_folder(node.config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each case of a test function with the mark."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    with _failing_readably():
        from callmark.integrations.pytest_cases import readable_id
        from callmark.integrations.pytest_sets import CaseSet, read_mark

        options = read_mark(mark.args, mark.kwargs, os.path.dirname(metafunc.definition.path))
        cases = CaseSet(metafunc.definition.nodeid, options)
    metafunc.config.stash.setdefault(_sets, {})[metafunc.definition.nodeid] = cases
    if FIXTURE not in metafunc.fixturenames:
        metafunc.fixturenames.insert(0, FIXTURE)
    metafunc.parametrize(FIXTURE, [pytest.param((cases.name, case), id=readable_id(case)) for case in cases.by_id], indirect=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test with the mark that pytest cannot parametrize, such as a method of `unittest.TestCase`: it would pass without a case."""
    if isinstance(item, pytest.Function) and item.get_closest_marker(MARK) is not None and not hasattr(item, "callspec"):
        pytest.fail(f"@pytest.mark.{MARK} has no effect on a method of unittest.TestCase: use a function or a plain class", pytrace=False)


@pytest.fixture
def callmark_result(request: pytest.FixtureRequest) -> "CaseResult":
    """The result of a case in a test with `@pytest.mark.callmark`: the case, its predictions, its grades, and whether it passed."""
    result = _result_of(request.node)
    if result is None:
        pytest.fail(f"{FIXTURE} needs @pytest.mark.{MARK}(CASES, model=...) on the test", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Run the body of a test; then fail it if its case did not pass. With thresholds over the set, it is an expected failure."""
    result = _result_of(pyfuncitem)
    outcome = yield
    if result is not None and not result.passed:
        if result.has_thresholds:
            pytest.xfail(result.message)
        pytest.fail(result.message, pytrace=False)
    return outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In the main process, check the thresholds of every set, and write the report."""
    config = session.config
    if _is_worker(config):
        return
    folder = config.stash.get(_folder, None)
    report = config.getoption("--callmark-report")
    lines = config.stash[_lines] = []
    if folder is not None and os.path.isdir(folder):
        from callmark.integrations.pytest_summary import summarize_sets

        summary = summarize_sets(folder, report)
        lines += summary.lines
        if summary.failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif report:
        lines.append((f"no test with @pytest.mark.{MARK} ran, so {report} was not written", False))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder that the processes shared."""
    if _folder in config.stash:
        shutil.rmtree(config.stash[_folder], ignore_errors=True)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the thresholds and where the report is."""
    lines = config.stash.get(_lines, [])
    if lines:
        terminalreporter.section("callmark")
    for text, is_failure in lines:
        terminalreporter.write_line(text, red=is_failure)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _shared_folder(config: pytest.Config) -> str:
    """Return the folder for predictions that all processes share. The main process chooses its name, which nobody can guess; the first
    process that needs it makes it.
    """
    if _is_worker(config):
        return str(vars(config)["workerinput"][_FOLDER])
    if _folder not in config.stash:
        config.stash[_folder] = os.path.join(gettempdir(), f"callmark-pytest-{uuid4().hex}")
    return config.stash[_folder]


def _result_of(item: pytest.Function) -> "CaseResult | None":
    """Return the result of the case of a test; None for a test without the mark. A case that has no result yet is run.

    Without pytest-xdist, all selected cases of the set are run together; a worker runs one by one, because it does not know its next tests.
    """
    parameters: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    if FIXTURE not in parameters:
        return None
    name: str
    case: str
    name, case = parameters[FIXTURE]
    cases = item.config.stash[_sets][name]
    with _failing_readably():
        if case not in cases.results:
            cases.run([case] if _is_worker(item.config) else _selected(item.session, name), _shared_folder(item.config))
        return cases.results[case]


def _selected(session: pytest.Session, name: str) -> list[str]:
    """Return the cases of a set whose tests were selected, in order."""
    items = (item for item in session.items if isinstance(item, pytest.Function) and hasattr(item, "callspec"))
    parameters = (item.callspec.params.get(FIXTURE) for item in items)
    found = [parameter[1] for parameter in parameters if isinstance(parameter, tuple) and parameter[0] == name]
    return list(dict.fromkeys(found))  # a test with further parameters has a case more than once


@contextmanager
def _failing_readably() -> Iterator[None]:
    """Turn an error about the user's input into a failure without a traceback."""
    try:
        yield
    except Exception as error:
        from callmark.errors import CallmarkError
        from callmark.reporting.safety import escape_log_commands, indent_breaks

        if not isinstance(error, CallmarkError):
            raise
        hint = getattr(error, "hint", "")
        sentence = escape_log_commands(indent_breaks(f"callmark: {error}{f'. {hint}' if hint else ''}"))
        raise pytest.fail.Exception(sentence, pytrace=False) from None
