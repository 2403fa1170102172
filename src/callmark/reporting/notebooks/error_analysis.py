"""Sections of `error_analysis.ipynb`: what went wrong, where, and how often."""

from callmark.reporting.notebooks.sections import NOTHING_SCORED, OPENING_CELLS, Section

ERROR_ANALYSIS = (
    Section(
        """# Error analysis

What went wrong, where, and how often? A fault is one problem in one call, as counted by the evaluator of the run's headline metric. Errors
(timeouts, crashes) are not faults; they are listed at the end. `evaluation.ipynb` shows the metrics of the run.
""",
        OPENING_CELLS,
        applies_unscored=True,
    ),
    NOTHING_SCORED,
    Section(
        """## What went wrong

Faults by kind, most frequent first. Check the top of the list first: fixing it improves the run the most.
""",
        {
            "faults": """
from callmark.grading.grade import fault_sentence

rows = [
    {
        "case": grade.case,
        "trial": grade.trial,
        "scenario type": grade.scenario_type,
        "fault": fault.kind.replace("_", " "),
        "expected": None if fault.expected_index is None else grade.expected[fault.expected_index],
        "actual": None if fault.actual_index is None else grade.actual[fault.actual_index],
        "argument": fault.argument,
        "description": fault_sentence(fault, "" if fault.actual_index is None else grade.actual[fault.actual_index]),
    }
    for grade in run.grades()
    for fault in grade.faults
]
faults = pd.DataFrame(rows)
""",
            "faults-chart": """
kinds = faults.groupby("fault").agg(count=("case", "size"), cases=("case", "nunique"), example=("description", "first"))
kinds = display_table(kinds.sort_values("count", ascending=False, kind="stable").reset_index(), 120, names=False)
alt.Chart(kinds, title="What went wrong").mark_bar().encode(
    y=alt.Y("fault:N", sort=None, title=None), x=alt.X("count:Q", title="faults", axis=count_axis)
)
""",
            "faults-table": """
kinds.set_index("fault")
""",
        },
        lambda data: bool(data.summary.faults),
        "No faults were recorded.",
    ),
    Section(
        """## Missing and extra calls

For each function, the number of missing calls (left) and extra calls (right). Missing calls lower recall: check that no step of the process
is skipped. Extra calls lower precision: check that the model does not call the function unnecessarily or repeatedly. If a function has
both, check that it is called at the right time. The last two tables list missing and extra calls by case; a call to the wrong tool is
listed with the call that is missing.
""",
        {
            "calls-chart": """
functions = summary.details.functions.functions
miscounted = [{"name": one.name, "missing": one.expected - one.paired, "extra": one.actual - one.paired} for one in functions]
miscounted = [one for one in miscounted if one["missing"] or one["extra"]]
miscounted = display_table(sorted(miscounted, key=lambda one: -one["missing"] - one["extra"])[:50])
sides = miscounted.head(20).assign(missing=-miscounted["missing"]).melt(id_vars="name", var_name="side", value_name="calls")
alt.Chart(sides, title="Missing and extra calls").mark_bar().encode(
    y=alt.Y("name:N", sort=None, title=None),
    x=alt.X("calls:Q", title="missing calls  ·  extra calls", axis=count_axis),
    color=alt.Color("side:N", title=None, sort=["missing", "extra"]),
)
""",
            "calls-table": """
miscounted.set_index("name")
""",
            "missing-table": """
missing = faults[faults["expected"].notna() & faults["argument"].isna()]
missing = missing.groupby(["case", "description"], sort=False).size().reset_index(name="count")
display_table(missing.head(30), 200, names=False).set_index("case")
""",
            "extra-table": """
extra = faults[faults["expected"].isna()].groupby(["case", "description"], sort=False).size().reset_index(name="count")
display_table(extra.head(30), 200, names=False).set_index("case")
""",
        },
        lambda data: any(one.expected > one.paired or one.actual > one.paired for one in data.details.functions.functions),
        "No missing calls and no extra calls.",
    ),
    Section(
        """## Which tool was called instead

Rows are expected tools, columns are called tools; the diagonal is correct. If two tools are often confused, check that their descriptions
and examples distinguish them. "(no call)" means that no tool was called, or that no call was expected.
""",
        {
            "instead-chart": """
confused = summary.details.confusion.most_confused(30)
rows = list(dict.fromkeys(cell.expected for cell in confused))[:15]
cells = display_table(to_builtins([cell for cell in summary.details.confusion.cells if cell.expected in rows][:200]), 44)
grid = alt.Chart(cells, title="Which tool was called instead").encode(
    x=alt.X("actual:N", title="called", axis=alt.Axis(labelAngle=-45)), y=alt.Y("expected:N", title="expected")
)
grid.mark_rect().encode(color=alt.Color("count:Q", title="count")) + grid.mark_text(color="black").encode(text="count:Q")
""",
            "instead-table": """
display_table(to_builtins(confused)).set_index("expected")
""",
            "calling-table": """
calling = summary.details.confusion.call_counts
counts = {
    "predictions with more calls than expected": calling.cases_with_extra_calls,
    "calls above the expected number": calling.extra_calls,
    "predictions with fewer calls than expected": calling.cases_with_missing_calls,
    "calls below the expected number": calling.missing_calls,
    "predictions for cases that expect a call": calling.call_expected,
    "… without a call": calling.called_nothing,
    "predictions for cases that expect no call": calling.no_call_expected,
    "… with a call": calling.called_anyway,
}
pd.DataFrame({"count": counts})
""",
        },
        lambda data: bool(data.details.confusion.most_confused(1)),
        "No tool was called instead of another.",
    ),
    Section(
        """## Wrong arguments

Which arguments are wrong, and how.

- **Missing** arguments lower argument recall. Check that the model asks for the value, and that it uses what the user said.
- **Wrong values** and **wrong types** lower both argument precision and recall; **extra** and **unknown** arguments lower precision.
- Of the wrong values, *hallucinated* ones do not appear earlier in the conversation; values from *elsewhere* were
  copied from the wrong place in it; *format* means the expected value in another format (`W7868134` for `#W7868134`).
- **Wrong types** and **unknown** arguments do not match the schema. Check that the schema describes the parameter clearly.
""",
        {
            "arguments-chart": """
arguments = summary.details.functions.arguments[:50]
labels = {"missing": "missing", "extra": "extra", "unknown": "unknown", "wrong_type": "wrong type", "wrong_value": "wrong value"}
counted = [{label: getattr(one, kind) for kind, label in labels.items()} for one in arguments]
named = display_table([{"argument": f"{one.function}.{one.argument}", **counts} for one, counts in zip(arguments, counted)], 80)
counts = named.head(20).melt(id_vars="argument", var_name="kind", value_name="count")
alt.Chart(counts[counts["count"] > 0], title="Wrong arguments").mark_bar().encode(
    y=alt.Y("argument:N", sort=None, title=None),
    x=alt.X("sum(count):Q", title="faults", axis=count_axis),
    color=alt.Color("kind:N", title=None, sort=list(labels.values())),
)
""",
            "arguments-table": """
origins = pd.DataFrame([{"hallucinated": one.hallucinated, "elsewhere": one.elsewhere, "format": one.format} for one in arguments])
named.join(origins).set_index("argument")
""",
            "argument-examples-table": """
examples = [
    {
        "argument": f"{one.function}.{one.argument}",
        "fault": example.kind.replace("_", " "),
        "case": example.case,
        "expected": example.expected or "",
        "actual": example.actual or "",
    }
    for one in arguments
    for example in one.examples
]
display_table(examples[:50], 100).set_index("argument")
""",
        },
        lambda data: bool(data.details.functions.arguments),
        "No argument was wrong.",
    ),
    Section(
        """## Faults by scenario type

If a kind of fault is concentrated in one row, check that workflow. If it appears in all rows, it is a general problem.
""",
        {
            "where-chart": """
where = faults.groupby(["scenario type", "fault"]).size().reset_index(name="faults")
where = display_table(where.sort_values("faults", ascending=False, kind="stable").head(200), 44)
grid = alt.Chart(where, title="Faults by scenario type").encode(
    x=alt.X("fault:N", title=None, axis=alt.Axis(labelAngle=-45)), y=alt.Y("scenario type:N", title=None)
)
grid.mark_rect().encode(color=alt.Color("faults:Q")) + grid.mark_text(color="black").encode(text="faults:Q")
""",
        },
        lambda data: data.run.scenarios and bool(data.summary.faults),
    ),
    Section(
        """## Faults by expected tool

If a kind of fault is concentrated in one row, check that tool. If it appears in all rows, it is a general problem.
""",
        {
            "where-chart": """
where = faults.assign(tool=faults["expected"].fillna("(no call)")).groupby(["tool", "fault"]).size().reset_index(name="faults")
where = display_table(where.sort_values("faults", ascending=False, kind="stable").head(200), 44)
grid = alt.Chart(where, title="Faults by expected tool").encode(
    x=alt.X("fault:N", title=None, axis=alt.Axis(labelAngle=-45)), y=alt.Y("tool:N", title=None)
)
grid.mark_rect().encode(color=alt.Color("faults:Q")) + grid.mark_text(color="black").encode(text="faults:Q")
""",
        },
        lambda data: not data.run.scenarios and bool(data.summary.faults),
    ),
    Section(
        """## Lowest-scoring cases

The mean over all trials of a case, lowest first, 20 at most, and the faults of these cases. `callmark show DATASET --id CASE` shows a case
in full.
""",
        {
            "worst-table": """
each = scored.groupby("case", sort=False)
worst = each[main].mean().assign(trials=each.size(), expected=each["expected"].first()).reset_index()
worst = worst[worst[run.headline] < 1].sort_values([run.headline, *main, "case"]).head(20)
display_table(worst, 160).set_index("case")
""",
            "worst-faults-table": """
by_case = faults.groupby(["case", "fault", "description"], sort=False).size().reset_index(name="count")
display_table(worst[["case"]].merge(by_case, on="case").head(50), 300, names=False).set_index("case")
""",
        },
        lambda data: data.has_headline and bool(data.summary.faults),
        "No case has a fault.",
    ),
    Section(
        """## Notes (not scored)

Notes do not affect the scores of calls: calls in a different order, correct values that do not appear earlier in the conversation
(hallucinated), policy violations, and differences in the end state.
""",
        {
            "notes-table": """
note_rows = [
    {"note": note.kind.replace("_", " "), "case": grade.case, "sentence": note.sentence}
    for grade in run.grades()
    for note in grade.notes
]
notes = pd.DataFrame(note_rows).groupby("note").agg(count=("case", "size"), cases=("case", "nunique"), example=("sentence", "first"))
display_table(notes.sort_values("count", ascending=False, kind="stable").reset_index(), 200, names=False).set_index("note")
""",
        },
        lambda data: bool(data.summary.notes),
    ),
    Section(
        """## Errors

Errors are not the model's fault (timeouts, crashes, rate limits) and are excluded from every metric. If there are many, the metrics cover
only part of the dataset.
""",
        {
            "errors-table": """
errors = [{"error": text, "count": count} for text, count in list(summary.error_texts.items())[:50]]
display_table(errors, 200, names=False).set_index("error")
""",
        },
        lambda data: bool(data.summary.errors),
        "No errors.",
        applies_unscored=True,
    ),
)
