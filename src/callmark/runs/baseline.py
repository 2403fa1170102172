"""Find the baseline of a run: the newest finished run with a tag, of the same dataset, in the same folder of runs."""

import os

from msgspec import Struct

from callmark.errors import BadInput
from callmark.runs.run import Run
from callmark.runs.store import RUN, RunFolder, is_run
from callmark.runs.tags import has_tag
from callmark.wording import pluralize

LATEST = "latest:"  # begins the name of a baseline that is found by its tag


class LatestRun(Struct, frozen=True):
    """A run that was found, and a sentence for each run beside it that could not be read."""

    run: Run
    unreadable: list[str]


def find_latest(run: Run, tag: str) -> LatestRun:
    """Return the newest finished run with the tag `KEY` or `KEY=VALUE`, of the dataset of `run`, in the folder that `run` is in.

    `run` itself does not count. Of runs started in the same minute, the one written last is the newest. Without one, `BadInput` says how
    many have the tag, and why they do not count.
    """
    if not tag:
        raise BadInput(f"baseline: expected {LATEST}TAG, got {LATEST}", f"For example: {LATEST}main")
    own, unreadable, tagged = run.path.resolve(), list[str](), list[Run]()
    for path in sorted(each for each in own.parent.iterdir() if is_run(str(each)) and each.resolve() != own):
        folder = RunFolder(os.path.relpath(path))
        try:
            found = Run.from_folder(folder, folder.read())
        except BadInput as error:
            unreadable.append(str(error))
            continue
        if has_tag(found.tags, tag):
            tagged.append(found)
    same = [found for found in tagged if found.info.dataset.digest == run.info.dataset.digest]
    finished = [found for found in same if found.is_graded and found.info.status == "complete"]
    if not finished:
        raise _not_found(run, tag, others=len(tagged) - len(same), unfinished=len(same))
    newest = max(finished, key=lambda found: (found.info.created, os.stat(found.folder.file(RUN)).st_mtime_ns))
    return LatestRun(newest, unreadable)


def _not_found(run: Run, tag: str, *, others: int, unfinished: int) -> BadInput:
    dataset, folder = run.info.dataset.name, RunFolder(os.path.relpath(run.path.resolve().parent))
    reasons = [f"{pluralize(others, 'run')} with different cases"] if others else []
    reasons += [pluralize(unfinished, "unfinished run")] if unfinished else []
    rest = f", only {' and '.join(reasons)}" if reasons else ""
    return BadInput(
        f"baseline: {folder} has no other finished run on {dataset} with the tag {tag}{rest}",
        f"Tag a run when you start it: callmark run {dataset} --model MODEL --tag {tag}\n"
        f"Tag an existing run: callmark grade RUN --tag {tag}",
    )
