"""The data files of a Hugging Face dataset on disk, one split of it: `hf:FOLDER`, or `hf:FOLDER/SPLIT` if it has several.

Read are folders that `save_to_disk` wrote (`state.json`, or `dataset_dict.json` with a folder per split), folders of its cache
(`dataset_info.json` beside `NAME-SPLIT.arrow`), and repositories of the Hub with files such as `data/train-00000-of-00002.parquet`,
`train.jsonl` or `CONFIG/test-00000-of-00001.parquet`. A split of which a shard is missing raises `BadInput`, as do indices that were not
applied to the rows.
"""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from callmark.calls.strict import scrub
from callmark.errors import BadInput

PREFIX = "hf:"
_STATE, _DICT, _INFO = "state.json", "dataset_dict.json", "dataset_info.json"
_SHARD = re.compile(r"^(.*?)-(\d{5})-of-(\d{5})(?:-[0-9a-f]+)?$")
_ENDINGS = (".parquet", ".arrow", ".jsonl", ".json", ".csv", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".csv.gz")
_NOT_DATA = frozenset({_STATE, _DICT, _INFO, "dataset_infos.json", "config.json"})
_MAX_DEPTH = 3  # folders below the dataset's
_MAX_STATE = 1 << 24


def is_saved_dataset(path: str) -> bool:
    """Return whether a folder was written by `save_to_disk`."""
    return any(os.path.isfile(os.path.join(path, name)) for name in (_STATE, _DICT))


def hugging_face_files(path: str, name: str) -> Sequence[str]:
    """Return the paths of the files of one split, in order. `name` is the name of the dataset in messages.

    A folder that is missing, is not a dataset or has several splits raises `BadInput`.
    """
    folder, split = path.rstrip("/") or path, ""
    if not os.path.isdir(folder):
        folder, _, split = folder.rpartition("/")
        if not folder or not split or not os.path.isdir(folder):
            raise BadInput(
                f"{name}: no such folder", "hf: reads a dataset on disk. Download it first: hf download NAME --repo-type dataset"
            )
    if os.path.isfile(os.path.join(folder, _STATE)):
        if split:
            raise BadInput(f"{name}: the dataset has no splits", f"Pass {PREFIX}{scrub(folder)}")
        return _saved_files(folder, name)
    if os.path.isfile(os.path.join(folder, _DICT)):
        splits = _read_object(os.path.join(folder, _DICT), name).get("splits")
        known = {each: [each] for each in splits if isinstance(each, str)} if isinstance(splits, list) else {}
        chosen = _choose(known, split, folder, name)
        return _saved_files(os.path.join(folder, os.path.basename(chosen[0])), name)
    return _choose(_find_splits(folder, name), split, folder, name)


def _saved_files(folder: str, name: str) -> Sequence[str]:
    state = _read_object(os.path.join(folder, _STATE), name)
    where = f"{name}: {_STATE}"
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise BadInput(
            f"{where}: the dataset has an unflattened indices mapping (from select, shuffle or filter)",
            "Call flatten_indices(), then save_to_disk().",
        )
    files = state.get("_data_files")
    names = [one.get("filename") if isinstance(one, dict) else None for one in files] if isinstance(files, list) else []
    if not names or not all(isinstance(one, str) and os.path.basename(one) == one for one in names):
        raise BadInput(f"{where}: expected _data_files, a list of file names")
    paths = [os.path.join(folder, str(one)) for one in names]
    missing = [one for one in paths if not os.path.isfile(one)]
    if missing:
        raise BadInput(f"{name}: {_STATE} lists {scrub(os.path.basename(missing[0]))}, which is missing")
    return paths


def _find_splits(folder: str, name: str) -> dict[str, list[str]]:
    """Return the files of each split (`CONFIG/SPLIT`, if there are configurations) of a repository or a cache folder."""
    found: dict[str, list[str]] = defaultdict(list)
    prefix = _cache_prefix(folder, name)
    for parent, folders, files in os.walk(folder):
        depth = os.path.relpath(parent, folder).count(os.sep) + (parent != folder)
        folders[:] = sorted(each for each in folders if not each.startswith((".", "_"))) if depth < _MAX_DEPTH else []
        for file in sorted(files):
            ending = next((each for each in _ENDINGS if file.endswith(each)), None)
            if ending is not None and file not in _NOT_DATA and not file.startswith((".", "_")):
                relative = os.path.relpath(parent, folder)
                found[_split_of(relative, file.removesuffix(ending).removeprefix(prefix))].append(os.path.join(parent, file))
    for split, paths in found.items():
        _refuse_missing_shards(paths, split, name)
    return dict(found)


def _split_of(folder: str, stem: str) -> str:
    """Return the split that a file belongs to, by its name without extension and the folder that it is in."""
    shard = _SHARD.match(stem)
    parts = [part for part in folder.split(os.sep) if part not in (".", "data")]
    own = shard[1] if shard else stem
    if own.isdigit() or own in ("part", "data", "chunk", "shard", "file", ""):  # a folder per split
        own = parts.pop() if parts else "train"
    return "/".join([*parts, own])


def _refuse_missing_shards(paths: Sequence[str], split: str, name: str) -> None:
    shards = [_SHARD.match(os.path.basename(path).partition(".")[0]) for path in paths]
    totals = {int(shard[3]) for shard in shards if shard}
    for total in totals:
        present = {int(shard[2]) for shard in shards if shard and int(shard[3]) == total}
        missing = [index for index in range(total) if index not in present]
        if missing or len(totals) > 1 or None in shards:
            what = f"shard {missing[0] + 1} of {total} is missing" if missing else "its files are from different versions"
            raise BadInput(f"{name}: {scrub(split)}: {what}", "Download the dataset again.")


def _cache_prefix(folder: str, name: str) -> str:
    """Return what the names of the files in a folder of the cache begin with: the name of the dataset."""
    path = os.path.join(folder, _INFO)
    if not os.path.isfile(path):
        return ""
    own = _read_object(path, name).get("dataset_name")
    return f"{own}-" if isinstance(own, str) and own else ""


def _choose(splits: dict[str, list[str]], split: str, folder: str, name: str) -> list[str]:
    if split and split in splits:
        return splits[split]
    ways = ", ".join(f"{PREFIX}{scrub(folder)}/{scrub(each)}" for each in splits)
    if split:
        raise BadInput(f"{name}: the dataset has no split {split[:80]!r}", f"Pass one of: {ways}" if ways else "")
    if not splits:
        raise BadInput(f"{name}: no data files found in the folder", "Expected Arrow, Parquet, JSON or CSV files of a dataset.")
    if len(splits) > 1:
        raise BadInput(f"{name}: the dataset has {len(splits)} splits: {', '.join(map(scrub, splits))}", f"Pass one of: {ways}")
    return next(iter(splits.values()))


def _read_object(path: str, name: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(_MAX_STATE), type=dict[str, Any])
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{name}: {os.path.basename(path)} cannot be read: {error}") from None
