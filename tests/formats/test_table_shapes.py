"""Every shape in every container is read as the JSONL of the same rows."""

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import callmark
from callmark.formats.predictions import Predictions
from tests.formats.benchmark_shapes import BENCHMARK_PREDICTIONS, BENCHMARK_SHAPES
from tests.formats.chat_shapes import CHAT_SHAPES
from tests.formats.exchange_shapes import EXCHANGE_PREDICTIONS, EXCHANGE_SHAPES
from tests.formats.open_shapes import OPEN_SHAPES
from tests.formats.prediction_shapes import PREDICTION_SHAPES
from tests.formats.samples import CALLS, samples
from tests.formats.table_files import CONTAINERS, write_jsonl

NOT_TABLES = {
    ("Vercel AI model messages", "structs"): "mixes texts and lists in one column",
    ("HammerBench", "structs"): "mixes texts and objects in one column",
    ("inspect-ai log", ""): "is one object with all samples",
    ("tau2-bench results", ""): "is one object with all simulations",
    ("google-adk evaluation set", ""): "is one object with all cases",
    ("OpenAI Agents SDK items", ""): "its rows are lists",
    ("pydantic-ai", ""): "its rows are lists",
    ("non_preferred_output", "JSON texts"): "has an empty list in the place of a text",
    ("non_preferred_output", "CSV"): "has an empty list in the place of a text",
}

every_container = pytest.mark.parametrize("container", CONTAINERS)


def dataset_rows(path: Path, *, cases: bool = False) -> list[Any]:
    with callmark.load(path, cases=cases) as dataset:
        return [(row.id, row.messages, row.tools, getattr(row, "expected", None)) for row in dataset]


def prediction_rows(path: Path) -> list[Any]:
    return [row for _, row in Predictions(str(path))]


@every_container
@pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in (*CHAT_SHAPES, *OPEN_SHAPES, *BENCHMARK_SHAPES)])
def test_a_dataset_is_read_as_its_jsonl(shape: Any, container: str, tmp_path: Path) -> None:
    rows = shape.rows(samples())
    compare(rows, shape.name, container, tmp_path, dataset_rows)


@every_container
@pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.name) for shape in EXCHANGE_SHAPES])
def test_cases_are_read_as_their_jsonl(shape: Any, container: str, tmp_path: Path) -> None:
    compare([shape.row("Please.", [call]) for call in CALLS], shape.name, container, tmp_path, partial(dataset_rows, cases=True))


@every_container
@pytest.mark.parametrize(
    "shape", [pytest.param(shape, id=shape.name) for shape in (*PREDICTION_SHAPES, *EXCHANGE_PREDICTIONS, *BENCHMARK_PREDICTIONS)]
)
def test_predictions_are_read_as_their_jsonl(shape: Any, container: str, tmp_path: Path) -> None:
    compare([shape.row([call]) for call in CALLS], shape.name, container, tmp_path, prediction_rows)


def compare(rows: list[Any], shape: str, container: str, folder: Path, read: Any) -> None:
    reason = NOT_TABLES.get((shape, container)) or NOT_TABLES.get((shape, ""))
    if reason is None:
        assert read(CONTAINERS[container](rows, folder)) == read(write_jsonl(rows, folder))
    elif "mixes" in reason:
        with pytest.raises(pyarrow.ArrowInvalid, match="cannot mix"):
            CONTAINERS[container](rows, folder)
