"""Write the files of a synthesis, and the report.

train.jsonl  valid.jsonl      accepted conversations, one per row: `messages` and `tools`
rejected.jsonl                rejected conversations, each with its plan and the reasons
plans.jsonl                   the plans, as scenarios
synth.json                    the report: counts, coverage, the plan of every row
"""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct

from callmark.calls.messages import message_texts
from callmark.calls.toolsets import tools_json
from callmark.data.split import split
from callmark.formats import write_lines
from callmark.formats.scenarios import write as write_scenario
from callmark.models.keys import Keys
from callmark.synthesis.api_goals import failed_calls
from callmark.synthesis.coverage import Coverage, coverage
from callmark.synthesis.options import SynthesisOptions
from callmark.synthesis.quality_filter import QualityFilter, RejectedConversation, RejectionReason, SimulatedConversation
from callmark.synthesis.rounds import Rounds
from callmark.types import Case, Conversation, Tool

TRAIN, VALID, REJECTED, PLANS, REPORT = "train.jsonl", "valid.jsonl", "rejected.jsonl", "plans.jsonl", "synth.json"
EXPERT = "expert"  # the label of the world's own agent
_MOCKED = b',"results":"mocked"}'


class RejectionCount(Struct, frozen=True):
    """How many conversations were rejected for a reason, and the first of them: line in `rejected.jsonl`, plan and sentence."""

    count: int
    line: int
    plan: str
    sentence: str


class SynthesisReport(Struct, frozen=True):
    """The result of a synthesis.

    `judged_by_calls`: how many accepted conversations were judged by their calls, because the end state of their plans is unknown.
    `refused_calls`: how many calls in them the tools refused, as planned; each such row names them under `refused_calls`.
    `bad_plans`: how many plans of a model were left out, because they fit no schema or use values from nowhere; `first_bad_plan` says why.
    `exhausted`: there were no more plans. `train` and `valid` name the plan of each row, in order.
    """

    callmark: str
    world: str
    agent: str
    user: str
    seed: int
    balance: bool
    mocked: bool
    requested: int
    simulated: int
    accepted: int
    rejected: int
    judged_by_calls: int
    refused_calls: int
    bad_plans: int
    first_bad_plan: str
    errors: int
    first_error: str
    stopped: str
    exhausted: bool
    reasons: dict[str, RejectionCount]
    coverage: Coverage
    train: tuple[str, ...]
    valid: tuple[str, ...]

    @property
    def missing(self) -> int:
        """Return how many of the requested conversations are missing."""
        return self.requested - self.accepted


def write_output(
    options: SynthesisOptions, rounds: Rounds, quality_filter: QualityFilter, tools: tuple[Tool, ...], keys: Keys
) -> SynthesisReport:
    """Write the files of a synthesis and return its report."""
    rows = [conversation.row for conversation in quality_filter.accepted]
    bad_plans = options.world.bad_plans
    refused = [_refused_calls(conversation) for conversation in quality_filter.accepted]
    parts = split(rows, valid=options.valid, seed=options.seed)
    tail = b',"tools":' + tools_json(tools) + (_MOCKED if options.world.mocked else b"}")
    for file, lines in (
        (TRAIN, (_row_line(rows[index], tail, refused[index]) for index in parts.train)),
        (VALID, (_row_line(rows[index], tail, refused[index]) for index in parts.valid)),
        (REJECTED, (_rejected_line(rejected, tail) for rejected in quality_filter.rejected)),
        (PLANS, map(write_scenario, _used_plans(rounds.plans, quality_filter))),
    ):
        write_lines(str(Path(options.out, file)), lines)
    report = SynthesisReport(
        callmark=version("callmark"),
        world=options.world.label,
        agent=EXPERT if options.agent is None else keys.hide(options.agent[0] or options.agent[1].model),
        user=keys.hide(options.simulation.user.model),
        seed=options.seed,
        balance=options.balance,
        mocked=options.world.mocked,
        requested=options.number,
        simulated=rounds.simulated,
        accepted=len(rows),
        rejected=len(quality_filter.rejected),
        judged_by_calls=sum(conversation.judged_by_calls for conversation in quality_filter.accepted),
        refused_calls=sum(map(len, refused)),
        bad_plans=len(bad_plans),
        first_bad_plan=bad_plans[0] if bad_plans else "",
        errors=len(rounds.errors),
        first_error=rounds.errors[0].error if rounds.errors else "",
        stopped=rounds.stopped,
        exhausted=rounds.exhausted,
        reasons=_count_reasons(quality_filter.rejected),
        coverage=coverage(rows, [conversation.plan for conversation in quality_filter.accepted], tools, options.world.branches),
        train=tuple(rows[index].id for index in parts.train),
        valid=tuple(rows[index].id for index in parts.valid),
    )
    write_lines(str(Path(options.out, REPORT)), [msgspec.json.format(msgspec.json.encode(report), indent=2)])
    return report


def _used_plans(plans: Sequence[Case], quality_filter: QualityFilter) -> Iterator[Case]:
    """Yield the plans, if enough were accepted up to the last accepted one: how many more were simulated depends on interruptions."""
    last = quality_filter.accepted[-1].plan.id if quality_filter.accepted and not quality_filter.missing else None
    for plan in plans:
        yield plan
        if plan.id == last:
            return


def _count_reasons(rejected: Sequence[RejectedConversation]) -> dict[str, RejectionCount]:
    """Count rejections by reason, the most frequent first. A conversation with several reasons counts for each of them."""
    first: dict[str, tuple[int, str, RejectionReason]] = {}
    counts: dict[str, int] = {}
    for line, each in enumerate(rejected, 1):
        for reason in each.reasons:
            first.setdefault(reason.code, (line, each.conversation.plan.id, reason))
            counts[reason.code] = counts.get(reason.code, 0) + 1
    ranked = sorted(counts, key=lambda code: -counts[code])
    return {code: RejectionCount(counts[code], first[code][0], first[code][1], first[code][2].sentence) for code in ranked}


def _refused_calls(conversation: SimulatedConversation) -> list[str]:
    """Return the ids of the calls that the tools refused, as planned."""
    planned = [(call.name, call.arguments) for call in failed_calls(conversation.plan.data.get("plan"))]
    return [call.id for call in conversation.row.calls if call.id and (call.name, call.arguments) in planned]


def _row_line(row: Conversation, tail: bytes, refused: Sequence[str] = ()) -> bytes:
    mark = b',"refused_calls":' + msgspec.json.encode(refused) if refused else b""
    return b'{"messages":[' + b",".join(map(bytes, message_texts(row))) + b"]" + mark + tail


def _rejected_line(rejected: RejectedConversation, tail: bytes) -> bytes:
    head = msgspec.json.encode({"plan": rejected.conversation.plan.id, "reasons": rejected.reasons})
    return head[:-1] + b"," + _row_line(rejected.conversation.row, tail)[1:]
