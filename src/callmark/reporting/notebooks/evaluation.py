"""The sections of `evaluation.ipynb`: how good a run is, with interpretations of its numbers."""

from callmark.reporting.notebooks.sections import NOTHING_SCORED, OPENING_CELLS, Section

EVALUATION = (
    Section(
        """# Evaluation

How good is the run? Every number here is one of callmark's own (`docs/metrics.md` says how each is worked out), read from the run folder
when the notebook is run. What went wrong, call by call, is in `error_analysis.ipynb`.
""",
        OPENING_CELLS,
        applies_unscored=True,
    ),
    NOTHING_SCORED,
    Section(
        """## The metrics

A mean, of how many, and the 95 % interval around it: another draw of conversations like these would give a mean in there, nineteen times
out of twenty. Two numbers whose intervals overlap widely may well be the same. Errors (time-outs, crashes) are in none of them.
""",
        {
            "metrics-chart": """
metrics = display_table([{"metric": name, **to_builtins(found)} for name, found in summary.metrics.items()])
across = alt.Chart(metrics, title="Every metric and its 95 % interval").encode(y=alt.Y("metric:N", sort=None, title=None))
means = across.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("mean:Q", title="mean"))
across.mark_rule(strokeWidth=3, opacity=0.35).encode(x=alt.X("low:Q", title="mean"), x2="high:Q") + means
""",
            "metrics-table": """
metrics.set_index("metric")
""",
        },
    ),
    Section(
        """## What that says

| of calls | |
|---|---|
| high precision, low recall | the calls that it makes are correct, but it misses some that are required |
| low precision, high recall | it covers the expected calls, but makes unnecessary ones |
| low precision, low recall | fundamental issues: it does not understand which function is to be called when |

| of arguments | |
|---|---|
| high precision, low recall | what it gives is correct, but incomplete |
| low precision, high recall | the expected arguments are there, but with incorrect values |
| low precision, low recall | significant issues: arguments are wrong or missing |

Consider all of them together: each is easily raised alone, at the cost of another. Below is what applies to this run, and what to check
first.
""",
        {
            "readings": """
interpretations = summary.details.interpretations
display_table([{"of": one.subject, "says": one.text, "check first": "; ".join(one.checks)} for one in interpretations], 300).set_index("of")
""",
        },
        lambda data: bool(data.details.interpretations),
        "Nothing stands out: no number of this run is low, or far from the one that it is read against.",
    ),
    Section(
        """## How the scores are spread

A mean may be made of a few very bad cases or of many that are a little wrong: the first asks for a look at those cases, the second for a
look at what they have in common. A bar counts the cases from its number up to the next; the last has the perfect ones too.
""",
        {
            "spread-chart": """
graded = [name for name in main if not scored[name].isin([0, 1]).all()] or [run.headline]
spread = scored[graded].melt(var_name="metric", value_name="score").dropna()
spread["from"] = (spread["score"] * 10 + 1e-9).astype(int).clip(0, 9) / 10
counts = display_table(spread.groupby(["metric", "from"]).size().reset_index(name="cases"))
alt.Chart(counts, title="How the scores are spread", width=280, height=140).mark_bar().encode(
    x=alt.X("from:O", title="score", scale=alt.Scale(domain=[n / 10 for n in range(10)]), axis=alt.Axis(format=".1f", labelAngle=0)),
    y=alt.Y("cases:Q", title="cases", axis=count_axis),
    facet=alt.Facet("metric:N", columns=2, title=None),
)
""",
        },
        lambda data: data.has_headline,
    ),
    Section(
        """## Scenario types: is the business process followed?

`process.reliability` is the share of conversations in which every required call was made, none was unnecessary, and all arguments were
right.

- **high across all types**: business processes are followed correctly;
- **high in some, low in others**: it is better at certain workflows: work on the lowest first;
- **low in all**: fundamental issues with how business processes are carried out.
""",
        {
            "scenario-types-chart": """
types = summary.details.breakdowns.by_scenario_type
found = display_table([{"scenario type": part.name, "n": part.n, "score": part.means.get(run.headline)} for part in types[:20]])
alt.Chart(found, title=f"{one_line(run.headline, 60)} by scenario type").mark_bar().encode(
    y=alt.Y("scenario type:N", sort=None, title=None), x=alt.X("score:Q", title="mean", scale=alt.Scale(domain=[0, 1]))
)
""",
            "scenario-types-table": """
display_table([{"scenario type": part.name, "n": part.n, **part.means} for part in types[:50]]).set_index("scenario type")
""",
        },
        lambda data: data.run.scenarios and len(data.details.breakdowns.by_scenario_type) > 1,
    ),
    Section(
        """## Scenario by scenario

The mean over the trials of each, the lowest first, up to fifty of them. One that is right in some trials and wrong in others is not
reliable, even if its mean looks fair.
""",
        {
            "scenarios-table": """
each = scored.groupby(["scenario_type", "case"], sort=False, dropna=False)
table = each[main].mean().assign(trials=each.size()).reset_index()
display_table(table.sort_values([run.headline, *main, "case"]).head(50)).set_index("case")
""",
        },
        lambda data: data.run.scenarios and data.has_headline,
    ),
    Section(
        """## Tools

The mean by the tool that was expected (the first, where several were), the most frequent first: where is it weak? "(no call)" are the
cases in which nothing is to be called.
""",
        {
            "tools-chart": """
tools = summary.details.breakdowns.by_tool
found = display_table([{"tool": part.name, "n": part.n, "score": part.means.get(run.headline)} for part in tools[:20]])
alt.Chart(found, title=f"{one_line(run.headline, 60)} by tool").mark_bar().encode(
    y=alt.Y("tool:N", sort=None, title=None), x=alt.X("score:Q", title="mean", scale=alt.Scale(domain=[0, 1]))
)
""",
            "tools-table": """
display_table([{"tool": part.name, "n": part.n, **{name: part.means.get(name) for name in main}} for part in tools[:50]]).set_index("tool")
""",
        },
        lambda data: not data.run.scenarios and data.has_headline,
    ),
    Section(
        """## Deep in a conversation

By how many messages stand before the decision. A fall to the right says that it loses the thread as conversations get long.
""",
        {
            "positions-chart": """
positions = summary.details.breakdowns.by_position
found = display_table([{"messages before": part.name, "n": part.n, "score": part.means.get(run.headline)} for part in positions])
alt.Chart(found, title=f"{one_line(run.headline, 60)} by position", width=420).mark_line(point=True).encode(
    x=alt.X("messages before:O", sort=None, axis=alt.Axis(labelAngle=0)), y=alt.Y("score:Q", title="mean", scale=alt.Scale(domain=[0, 1]))
)
""",
            "positions-table": """
found.set_index("messages before")
""",
        },
        lambda data: not data.run.scenarios and len(data.details.breakdowns.by_position) > 1,
    ),
    Section(
        """## Conversation by conversation

The mean over the decision points of each, the lowest first, up to fifty of them.
""",
        {
            "conversations-table": """
each = scored.groupby(scored["conversation"].fillna(scored["case"]).rename("in"), sort=False)
table = each[main].mean().assign(**{"decision points": each.size()}).reset_index()
display_table(table.sort_values([run.headline, "in"]).head(50)).set_index("in")
""",
        },
        lambda data: not data.run.scenarios and data.has_headline,
    ),
    Section(
        """## Functions

Precision: of the calls of this function that were made, how many were expected. Recall: of those that were expected, how many were made.
The functions with the lowest of either are the ones to improve first. A function that is rarely expected says little.
""",
        {
            "functions-chart": """
functions = display_table(to_builtins(summary.details.functions.functions[:50]))
measured = functions.head(20).melt(id_vars="name", value_vars=["precision", "recall"], var_name="measure", value_name="share")
alt.Chart(measured, title="Precision and recall of each function", height=alt.Step(9)).mark_bar().encode(
    y=alt.Y("name:N", sort=None, title=None),
    yOffset="measure:N",
    x=alt.X("share:Q", title=None, scale=alt.Scale(domain=[0, 1])),
    color=alt.Color("measure:N", title=None),
)
""",
            "functions-table": """
functions.rename(columns={"correct": "all arguments right"}).set_index("name")
""",
        },
        lambda data: bool(data.details.functions.functions),
        "No function was expected, and none was called.",
    ),
    Section(
        """## Trials

Each case was tried several times. Of k tries, `pass@k` is how likely at least one is right, `pass^k` how likely all are: what users of a
business process see is the second. The wider they are apart, the less it can be relied on.
""",
        {
            "trials-chart": """
tried = summary.details.trials
passes = pd.DataFrame([{"k": one.k, "pass@k": one.any, "pass^k": one.every, "cases": one.cases} for one in tried.pass_rates])
lines = passes.melt(id_vars="k", value_vars=["pass@k", "pass^k"], var_name="measure", value_name="share")
alt.Chart(lines, title="One of k tries right, and all of them", width=320, height=200).mark_line(point=True).encode(
    x=alt.X("k:O", axis=alt.Axis(labelAngle=0)),
    y=alt.Y("share:Q", title=None, scale=alt.Scale(domain=[0, 1])),
    color=alt.Color("measure:N", title=None),
)
""",
            "trials-table": """
passes.set_index("k")
""",
            "consistency-table": """
same = {"cases": tried.trial_consistency, "groups of similar cases": tried.group_consistency}
pd.DataFrame([{"": name, "the same outcome every time": one.same, "of": one.n} for name, one in same.items() if one.n]).set_index("")
""",
        },
        lambda data: data.details.trials is not None,
    ),
    Section(
        """## What it took

Seconds in the middle and at the slow end (the 95th percentile), tokens, and cost where a price is known.
""",
        {
            "usage-table": """
display_table([to_builtins(summary.usage)]).rename(columns=lambda name: name.replace("_", " ")).T.set_axis(["in all"], axis="columns")
""",
        },
        lambda data: data.summary.usage is not None,
    ),
)
