"""Hugging Face datasets on disk: the files of one split. `test_package_fixtures.py` reads those that `datasets` wrote."""

import json
import shutil
from pathlib import Path

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats.hugging_face import hugging_face_files
from tests.conftest import Cli
from tests.formats.package_fixtures import FIXTURES
from tests.formats.table_files import write_parquet
from tests.rows import assistant, call, row, user, write_rows

ROW = row(user("?"), assistant(call("f")))


def files(path: Path | str) -> list[str]:
    folder = str(path)
    return [Path(found).name for found in hugging_face_files(folder, f"hf:{folder}")]


def make(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    "names, split, expected",
    [
        (["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "README.md"], "", 2),
        (["data/train-00000-of-00001-0a1b2c3d.parquet", "data/test-00000-of-00001-0a1b2c3d.parquet"], "/test", 1),
        (["train.jsonl", "test.jsonl"], "/train", 1),
        (["train/0000.parquet", "train/0001.parquet", "test/0000.parquet"], "/train", 2),
        (["en/test-00000-of-00001.parquet", "de/test-00000-of-00001.parquet"], "/en/test", 1),
        (["only.csv"], "", 1),
    ],
)
def test_files_belong_to_splits_by_their_names(names: list[str], split: str, expected: int, tmp_path: Path) -> None:
    assert len(files(f"{make(tmp_path, *names)}{split}")) == expected


@pytest.mark.parametrize(
    "names, split, sentence",
    [
        (["train.jsonl", "test.jsonl"], "", "the dataset has 2 splits: test, train"),
        (["train.jsonl"], "/dev", "the dataset has no split 'dev'"),
        (["train-00000-of-00003.parquet", "train-00002-of-00003.parquet"], "", "train: shard 2 of 3 is missing"),
        (["train-00000-of-00001.parquet", "train-00000-of-00002.parquet", "train-00001-of-00002.parquet"], "", "from different versions"),
        (["README.md"], "", "no data files found"),
    ],
)
def test_a_split_that_is_unclear_or_incomplete_is_refused(names: list[str], split: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=sentence):
        files(f"{make(tmp_path, *names)}{split}")


def test_a_saved_dataset_is_complete_and_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(FIXTURES / "datasets_saved", folder)
    assert files(folder) == ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    assert len(list(callmark.load(folder))) == 3  # also without hf:
    (folder / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(BadInput, match=r"state.json lists data-00001-of-00002.arrow, which is missing"):
        files(folder)


def test_the_splits_of_a_saved_dictionary_are_its_folders(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "datasets_saved", tmp_path / "train")
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train"]}))
    assert len(files(tmp_path)) == 2
    assert len(files(f"{tmp_path}/train")) == 2


@pytest.mark.parametrize(
    "state, sentence",
    [
        ({"_data_files": [{"filename": "../secret.arrow"}]}, "expected _data_files, a list of file names"),
        ({"_data_files": []}, "expected _data_files, a list of file names"),
        ({"_data_files": [{"filename": "x"}], "_indices_files": [{"filename": "i"}]}, "an unflattened indices mapping"),
    ],
)
def test_a_state_that_cannot_be_trusted_is_refused(state: dict[str, object], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps(state))
    with pytest.raises(BadInput, match=sentence):
        files(tmp_path)


def test_a_run_remembers_the_dataset_that_it_was_graded_on(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    write_parquet([{"id": f"c{number}", **ROW} for number in range(3)], tmp_path).rename(tmp_path / "hub" / "train-00000-of-00001.parquet")
    predictions = write_rows(tmp_path / "p.jsonl", *({"id": f"c{number}:1", "tool_calls": [{"name": "f"}]} for number in range(3)))
    assert cli("grade", f"hf:{tmp_path}/hub", "-p", predictions, "-o", tmp_path, "--name", "r").status == 0
    assert json.loads((tmp_path / "r" / "run.json").read_text())["dataset"]["path"] == "hf:../hub"
    assert cli("grade", tmp_path / "r").status == 0
    assert cli("stats", f"hf:{tmp_path}/hub/train").status == 0
