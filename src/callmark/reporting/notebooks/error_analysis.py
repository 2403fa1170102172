"""The sections of `error_analysis.ipynb`: what went wrong, where, and how often."""

from callmark.reporting.notebooks.sections import NOTHING_SCORED, OPENING_CELLS, Section

ERROR_ANALYSIS = (
    Section(
        """# Error analysis

What went wrong, where, and how often? A fault is one thing that is wrong with one call, as the evaluator that stands for the run counts it;
errors (time-outs, crashes) are no faults, and stand at the end. How good the run is as a whole is in `evaluation.ipynb`.
""",
        OPENING_CELLS,
        applies_unscored=True,
    ),
    NOTHING_SCORED,
    Section(
        """## What went wrong

The kinds of faults, the most frequent first. What leads the list is where an improvement pays most.
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
        "in words": fault_sentence(fault),
    }
    for grade in run.grades()
    for fault in grade.faults
    if not run.fault_evaluators or run.fault_evaluators.intersection(fault.evaluators)
]
faults = pd.DataFrame(rows)
""",
            "faults-chart": """
kinds = faults.groupby("fault").agg(times=("case", "size"), cases=("case", "nunique"), example=("in words", "first"))
kinds = display_table(kinds.sort_values("times", ascending=False, kind="stable").reset_index(), 120)
alt.Chart(kinds, title="What went wrong").mark_bar().encode(
    y=alt.Y("fault:N", sort=None, title=None), x=alt.X("times:Q", title="faults", axis=count_axis)
)
""",
            "faults-table": """
kinds.set_index("fault")
""",
        },
        lambda data: bool(data.summary.faults),
        "Nothing: every call that was expected was made, with the right arguments, and no other.",
    ),
    Section(
        """## Missed and extra calls

Of each function, how many calls that were expected are missing (to the left), and how many were made that were not expected (to the right).
Many missed calls are low recall: a step of the process is left out. Many extra calls are low precision: it calls without need, or again.
A function that has both may be called at the wrong time. Below, case by case: what was missed, and what was made without need.
""",
        {
            "calls-chart": """
functions = summary.details.functions.functions
miscounted = [{"name": one.name, "missed": one.expected - one.paired, "extra": one.actual - one.paired} for one in functions]
miscounted = [one for one in miscounted if one["missed"] or one["extra"]]
miscounted = display_table(sorted(miscounted, key=lambda one: -one["missed"] - one["extra"])[:50])
sides = miscounted.head(20).assign(missed=-miscounted["missed"]).melt(id_vars="name", var_name="side", value_name="calls")
alt.Chart(sides, title="Missed and extra calls").mark_bar().encode(
    y=alt.Y("name:N", sort=None, title=None),
    x=alt.X("calls:Q", title="missed  ·  extra", axis=count_axis),
    color=alt.Color("side:N", title=None, sort=["missed", "extra"]),
)
""",
            "calls-table": """
miscounted.set_index("name")
""",
            "missed-table": """
missed = faults[faults["expected"].notna() & faults["argument"].isna()]
missed = missed.groupby(["case", "in words"], sort=False).size().reset_index(name="times")
display_table(missed.rename(columns={"in words": "missed"}).head(30), 200).set_index("case")
""",
            "extra-table": """
extra = faults[faults["expected"].isna()].groupby(["case", "in words"], sort=False).size().reset_index(name="times")
display_table(extra.rename(columns={"in words": "extra"}).head(30), 200).set_index("case")
""",
        },
        lambda data: any(one.expected > one.paired or one.actual > one.paired for one in data.details.functions.functions),
        "No expected call is missing, and none was made that was not expected.",
    ),
    Section(
        """## Which tool was called instead

A row is what was expected, a column what was called; the diagonal is right. Two tools that are often taken for each other need clearer
descriptions, or examples that tell them apart. "(no call)" says that nothing was called, or nothing was due.
""",
        {
            "instead-chart": """
confused = summary.details.confusion.most_confused(30)
rows = list(dict.fromkeys(cell.expected for cell in confused))[:15]
cells = display_table(to_builtins([cell for cell in summary.details.confusion.cells if cell.expected in rows][:200]), 44)
grid = alt.Chart(cells, title="Which tool was called instead").encode(
    x=alt.X("actual:N", title="called", axis=alt.Axis(labelAngle=-45)), y=alt.Y("expected:N", title="expected")
)
grid.mark_rect().encode(color=alt.Color("count:Q", title="cases")) + grid.mark_text(color="black").encode(text="count:Q")
""",
            "instead-table": """
display_table(to_builtins(confused)).set_index("expected")
""",
            "calling-table": """
calling = summary.details.confusion.call_counts
counts = {
    "cases with more calls than expected": calling.cases_with_extra_calls,
    "… calls too many in them": calling.extra_calls,
    "cases with fewer calls than expected": calling.cases_with_missing_calls,
    "… calls too few in them": calling.missing_calls,
    "cases in which a call was due": calling.call_expected,
    "… nothing was called": calling.called_nothing,
    "cases in which none was due": calling.no_call_expected,
    "… something was called": calling.called_anyway,
}
pd.DataFrame({"number": counts})
""",
        },
        lambda data: bool(data.details.confusion.most_confused(1)),
        "No tool was called in place of another.",
    ),
    Section(
        """## Wrong arguments

Which arguments go wrong, and in which way. **Missing** ones are low recall of arguments: it does not ask, or does not pass on what it was
told. **Wrong values** are low precision: *hallucinated* ones stand nowhere in the conversation, those from *elsewhere* were taken from the
wrong place in it. **Wrong types** and **unknown** ones say that the schema was not understood.
""",
        {
            "arguments-chart": """
arguments = summary.details.functions.arguments[:50]
labels = {"missing": "missing", "extra": "extra", "unknown": "unknown", "wrong_type": "wrong type", "wrong_value": "wrong value"}
counted = [{label: getattr(one, kind) for kind, label in labels.items()} for one in arguments]
named = display_table([{"argument": f"{one.function}.{one.argument}", **counts} for one, counts in zip(arguments, counted)], 80)
counts = named.head(20).melt(id_vars="argument", var_name="kind", value_name="times")
alt.Chart(counts[counts["times"] > 0], title="Wrong arguments").mark_bar().encode(
    y=alt.Y("argument:N", sort=None, title=None),
    x=alt.X("sum(times):Q", title="times", axis=count_axis),
    color=alt.Color("kind:N", title=None, sort=list(labels.values())),
)
""",
            "arguments-table": """
from_where = pd.DataFrame([{"hallucinated": one.hallucinated, "elsewhere": one.elsewhere} for one in arguments])
named.join(from_where).set_index("argument")
""",
            "argument-examples-table": """
examples = [
    {"argument": f"{one.function}.{one.argument}", **{name: "" if value is None else value for name, value in to_builtins(example).items()}}
    for one in arguments
    for example in one.examples
]
display_table(examples[:50], 100).rename(columns={"kind": "fault"}).set_index("argument")
""",
        },
        lambda data: bool(data.details.functions.arguments),
        "No argument was wrong.",
    ),
    Section(
        """## Where it goes wrong

Each kind of fault against the scenario types: a column that is dark in one row only is a workflow of its own to work on, one that is dark
all the way down is a habit.
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
        """## Where it goes wrong

Each kind of fault against the tool that was expected: a column that is dark in one row only is a tool of its own to work on, one that is
dark all the way down is a habit.
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
        """## The worst cases

The mean over the trials of each, the lowest first, up to twenty, and what is wrong with them. `callmark show DATASET --id CASE` has the
whole of one.
""",
        {
            "worst-table": """
each = scored.groupby("case", sort=False)
worst = each[main].mean().assign(trials=each.size(), expected=each["expected"].first()).reset_index()
worst = worst[worst[run.headline] < 1].sort_values([run.headline, *main, "case"]).head(20)
display_table(worst, 160).set_index("case")
""",
            "worst-faults-table": """
by_case = faults.groupby(["case", "in words"], sort=False).size().reset_index(name="times")
display_table(worst[["case"]].merge(by_case, on="case").head(50), 300).set_index("case")
""",
        },
        lambda data: data.has_headline and bool(data.summary.faults),
        "There is none that has a fault.",
    ),
    Section(
        """## Worth knowing

Notes touch no score of the calls: an order that is another than expected, a value that stands nowhere in the conversation although it is
right, what breaks a rule of the policy, what the conversation left in another state than it should.
""",
        {
            "notes-table": """
note_rows = [
    {"note": note.kind.replace("_", " "), "case": grade.case, "sentence": note.sentence}
    for grade in run.grades()
    for note in grade.notes
]
notes = pd.DataFrame(note_rows).groupby("note").agg(times=("case", "size"), cases=("case", "nunique"), example=("sentence", "first"))
display_table(notes.sort_values("times", ascending=False, kind="stable").reset_index(), 200).set_index("note")
""",
        },
        lambda data: bool(data.summary.notes),
    ),
    Section(
        """## Errors

What is not the model's doing, and in none of the numbers. With many of them the rest says less than it seems to.
""",
        {
            "errors-table": """
display_table([{"error": text, "times": times} for text, times in list(summary.error_texts.items())[:50]], 200).set_index("error")
""",
        },
        lambda data: bool(data.summary.errors),
        "None.",
        applies_unscored=True,
    ),
)
