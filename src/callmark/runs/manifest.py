"""`run.json`: what was run, on which dataset, how it was graded, and the counts; never a key or a header."""

from typing import Literal

import msgspec
from msgspec import Struct, field

from callmark.errors import BadInput
from callmark.formats.matching import PredictionsInfo
from callmark.grading.evaluator import Metric
from callmark.grading.settings import GradingSettings
from callmark.models.model import ModelSettings
from callmark.runs.source import CaseKind

VERSION = 1  # of run.json, and of the grades.jsonl beside it

Status = Literal["complete", "running", "interrupted", "stopped"]


class DatasetInfo(Struct, omit_defaults=True):
    """The file of the cases: its path as seen from the run folder, and its digest, which tells it from a later version.

    `expanded`: its rows are conversations, which were cut into decision points. In `repaired_rows` lone surrogates were written out.
    `limit`: only so many cases, from the first on.
    """

    name: str
    path: str
    digest: str = ""
    format: str = ""
    kind: CaseKind = "decision points"
    expanded: bool = False
    tools: str | None = None
    tools_digest: str = ""
    repaired_rows: int = 0
    limit: int | None = None


class SimulationSettings(Struct, frozen=True, omit_defaults=True):
    """How conversations are simulated: the user, the judge, the tools, the system prompt, the limits. Nothing secret is written down."""

    user: ModelSettings = ModelSettings()
    judge: ModelSettings | None = None
    tools: tuple[str, ...] = ()
    system: str = ""
    max_turns: int = 0
    max_steps: int = 0
    seed: int = 0


class ModelRunInfo(Struct, omit_defaults=True):
    """The model that was run, and the counts of its requests: one for each case and trial.

    `model` has its settings without anything secret; `redacted`: something was taken out of them. From `trailing_dropped` prompts the
    assistant's last words were left out. `stop_reason`: why not every request was sent.
    """

    label: str
    model: ModelSettings
    trials: int = 1
    redacted: bool = False
    requests: int = 0
    predictions: int = 0
    errors: int = 0
    cache_hits: int = 0
    trailing_dropped: int = 0
    stop_reason: str = ""
    simulation: SimulationSettings | None = None


class Manifest(Struct, omit_defaults=True):
    """`run.json`. `callmark` is the version that wrote it. `metrics` are the definitions by full name, `fault_evaluators` the evaluators
    whose faults are reported; `match_counts`: how many values each match rule applied to.
    """

    name: str
    callmark: str
    created: str
    dataset: DatasetInfo
    predictions: PredictionsInfo
    grading: GradingSettings
    metrics: dict[str, Metric] = {}
    fault_evaluators: tuple[str, ...] = ()
    cases: int = 0
    match_counts: dict[str, int] = {}
    status: Status = "complete"
    model_run: ModelRunInfo | None = None
    version: int = field(default_factory=lambda: VERSION)  # a default from a factory is written, too


class _Version(Struct):
    version: int = 0


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the text of `run.json`, without its last line end."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def decode_manifest(text: bytes) -> Manifest:
    """Return the manifest of a text. One without a version, or of an unknown one, raises `BadInput`; anything else msgspec's errors."""
    version = msgspec.json.decode(text, type=_Version).version
    if version != VERSION:
        raise BadInput(
            f"its version is {version or 'missing'}, {VERSION} was expected", "It was written by another version of callmark: use that one."
        )
    return msgspec.json.decode(text, type=Manifest)


def resume_command(manifest: Manifest) -> str:
    """Return the command that resumes a run."""
    return "callmark simulate" if manifest.model_run and manifest.model_run.simulation else "callmark run"
