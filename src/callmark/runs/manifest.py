"""`run.json`: the model, the dataset, the grading settings and the counts of a run; never a key or a header."""

from typing import Literal

import msgspec
from msgspec import Struct, field

from callmark.errors import BadInput
from callmark.formats.matching import PredictionsInfo
from callmark.grading.evaluator import Metric
from callmark.grading.settings import GradingSettings
from callmark.models.child_environment import is_variable
from callmark.models.model import ModelSettings
from callmark.runs.git_state import GitState
from callmark.runs.sample import Sample
from callmark.runs.source import CaseKind

VERSION = 1  # of run.json and grades.jsonl

Status = Literal["complete", "running", "interrupted", "stopped"]


class DatasetInfo(Struct, omit_defaults=True):
    """The dataset of a run: its path relative to the run folder, and its digest, to detect changes.

    `expanded` means that its rows are conversations, which were cut into decision points. `repaired_rows` is the number of rows in which
    lone surrogates were escaped, `unknown_parts` the number of content parts of unknown types. `limit` is the number of cases, starting
    from the first. `sample` are the conversations that were run, if the run was decided before the others were needed. `skipped` are the
    ids of cases that were left out because they cannot be run. `patch` is the digest of the corrections in `patch.jsonl`; empty without.
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
    sample: Sample | None = None
    unknown_parts: dict[str, int] = {}
    skipped: tuple[str, ...] = ()
    patch: str = ""


class SimulationSettings(Struct, frozen=True, omit_defaults=True):
    """The settings of a simulation: the user, the judge, the tools, the system prompt and the limits, without secrets.

    `share_server` is whether all conversations share one tool server; None if the server's tools decide.
    """

    user: ModelSettings = ModelSettings()
    judge: ModelSettings | None = None
    tools: tuple[str, ...] = ()
    system: str = ""
    max_turns: int = 0
    max_steps: int = 0
    seed: int = 0
    share_server: bool | None = None


class ModelRunInfo(Struct, omit_defaults=True):
    """The model of a run, and the counts of its requests: one per case and trial.

    `model` has its settings without secrets; `redacted` means that a secret was removed. `trailing_dropped` is the number of prompts from
    which trailing assistant text was dropped. `stop_reason` says why some requests were not sent, and `decided` what made the rest of the
    conversations unnecessary. `env` names the variables that all programs got.
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
    decided: str = ""
    simulation: SimulationSettings | None = None
    env: tuple[str, ...] = ()


class Manifest(Struct, omit_defaults=True):
    """The content of `run.json`. `callmark` is the version that wrote it, `metrics` are the metric definitions by full name, `match_counts`
    the number of values that each match rule applied to, `unused_rules` the policy rules that cannot be violated, with the tools that no
    case has, and `unchecked_replies` the number of cases with reply checks that no evaluator evaluated.
    `git` is the state of the repository in which the run was started.
    """

    name: str
    callmark: str
    created: str
    dataset: DatasetInfo
    predictions: PredictionsInfo
    grading: GradingSettings
    metrics: dict[str, Metric] = {}
    cases: int = 0
    match_counts: dict[str, int] = {}
    unused_rules: dict[str, str] = {}
    unchecked_replies: int = 0
    tags: dict[str, str] = {}
    git: GitState | None = None
    status: Status = "complete"
    model_run: ModelRunInfo | None = None
    version: int = field(default_factory=lambda: VERSION)  # a default from a factory is written despite omit_defaults


class _Version(Struct):
    version: int = 0


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the text of `run.json`, without the final line break."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def decode_manifest(text: bytes) -> Manifest:
    """Parse `run.json`. A missing or unknown version raises `BadInput`; any other problem raises a msgspec error."""
    version = msgspec.json.decode(text, type=_Version).version
    if version != VERSION:
        raise BadInput(
            f"version: expected {VERSION}, got {version or 'no version'}",
            "The run was written by a different version of callmark. Use that version to read it.",
        )
    return msgspec.json.decode(text, type=Manifest)


def resume_command(manifest: Manifest, folder: str) -> str:
    """Return the command that resumes a run. It names the variables that programs got: no variable is sent because a folder names it."""
    model_run = manifest.model_run
    command = "callmark simulate" if model_run and model_run.simulation else "callmark run"
    return " ".join([command, folder, "--resume", *(f"--env {name}" for name in recorded_env(model_run))])


def recorded_env(model_run: ModelRunInfo | None) -> list[str]:
    """Return the names of all variables that the programs of a run got, of one model or of all."""
    if model_run is None:
        return []
    simulation = model_run.simulation or SimulationSettings()
    models = [model_run.model, simulation.user, *([simulation.judge] if simulation.judge else [])]
    names = dict.fromkeys([*model_run.env, *(name for model in models for name in model.env)])
    return [name for name in names if is_variable(name)]
