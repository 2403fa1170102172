"""The retail file in every format and back."""

import json
from pathlib import Path

import pytest

import callmark
from tests.conftest import Cli
from tests.real.test_recorded import DATA, RETAIL

pytestmark = pytest.mark.skipif(not RETAIL.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")


@pytest.mark.parametrize("format_name", ["openai", "sharegpt", "anthropic", "deepfabric"])
def test_the_retail_file_survives_conversion(cli: Cli, tmp_path: Path, format_name: str) -> None:
    there, back = tmp_path / "there.jsonl.zst", tmp_path / "back.jsonl"
    told = json.loads(cli("convert", RETAIL, "-o", there, "--to", format_name, "--json").out)
    assert (told["written"], told["calls"], told["results"], told["generated_ids"], told["left_out"]) == (55, 223, 168, 0, {})
    assert json.loads(cli("convert", there, "-o", back, "--to", "openai", "--json").out)["calls"] == 223
    stood = list(callmark.load(RETAIL))
    for path in (there, back):
        found = list(callmark.load(path))
        assert [row.messages for row in found] == [row.messages for row in stood]
        assert [row.tools for row in found] == [row.tools for row in stood]
    whole = [json.loads(cli("stats", path, "--json").out) for path in (RETAIL, there, back)]
    for one in whole:
        del one["file"], one["format"]
    assert whole[0] == whole[1] == whole[2]
