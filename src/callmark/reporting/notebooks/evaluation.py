"""Sections of `evaluation.ipynb`: the metrics of a run and their interpretation."""

from callmark.reporting.notebooks.sections import NOTHING_SCORED, OPENING_CELLS, Section

EVALUATION = (
    Section(
        """# Evaluation

How good is the run? All numbers are callmark's own, computed from the run folder when the notebook is executed; the metrics reference in
callmark's documentation defines each of them. `error_analysis.ipynb` shows what went wrong, call by call.
""",
        OPENING_CELLS,
        applies_unscored=True,
    ),
    NOTHING_SCORED,
    Section(
        """## Metrics

The mean of each metric, the number of scored predictions (n), and the 95% confidence interval over conversations. To find out whether two
runs differ, use `callmark compare` instead of comparing their intervals. Errors (timeouts, crashes) are excluded from every metric.
""",
        {
            "metrics-chart": """
heuristics = {name for name, metric in run.info.metrics.items() if metric.heuristic}
marked = {name: f"{name} (heuristic)" if name in heuristics else name for name in summary.metrics}
metrics = display_table([{"metric": marked[name], **to_builtins(found)} for name, found in summary.metrics.items()])
across = alt.Chart(metrics, title="Metrics with 95% confidence intervals").encode(y=alt.Y("metric:N", sort=None, title=None))
means = across.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("mean:Q", title="mean"))
across.mark_rule(strokeWidth=3, opacity=0.35).encode(x=alt.X("low:Q", title="mean"), x2="high:Q") + means
""",
            "metrics-table": """
metrics.set_index("metric")
""",
        },
    ),
    Section(
        """## Interpretation

| Tool calls | Interpretation |
|---|---|
| high precision, low recall | the model's calls are correct, but some required calls are missing |
| low precision, high recall | the expected calls are there, but so are unnecessary ones |
| low precision, low recall | fundamental issues: the model does not know which tool to call when |

| Arguments | Interpretation |
|---|---|
| high precision, low recall | the arguments are correct, but incomplete |
| low precision, high recall | the expected arguments are correct, but there are unexpected ones |
| low precision, low recall | significant issues: arguments are wrong or missing |

Consider all metrics together: each is easy to improve at the cost of another. The table shows what applies to this run and what to check
first.
""",
        {
            "interpretations-table": """
found = summary.details.interpretations
found = [{"metric": one.subject, "interpretation": one.text, "what to check": " ".join(one.checks)} for one in found]
display_table(found, 600, names=False).set_index("metric")
""",
        },
        lambda data: bool(data.details.interpretations),
        "No metric of this run is low or out of balance with another.",
    ),
    Section(
        """## Score distribution

A low mean can come from a few predictions with very low scores or from many with slightly low scores. If it is a few, check those cases; if
it is many, check what they have in common. Each bar counts the predictions with scores from its label up to the next; the last bar includes
1.0.
""",
        {
            "spread-chart": """
graded = [name for name in main if not scored[name].isin([0, 1]).all()] or [run.headline]
spread = scored[graded].melt(var_name="metric", value_name="score").dropna()
spread["from"] = (spread["score"] * 10 + 1e-9).astype(int).clip(0, 9) / 10
counts = display_table(spread.groupby(["metric", "from"]).size().reset_index(name="predictions"))
alt.Chart(counts, title="Score distribution", width=280, height=140).mark_bar().encode(
    x=alt.X("from:O", title="score", scale=alt.Scale(domain=[n / 10 for n in range(10)]), axis=alt.Axis(format=".1f", labelAngle=0)),
    y=alt.Y("predictions:Q", axis=count_axis),
    facet=alt.Facet("metric:N", columns=2, title=None),
)
""",
        },
        lambda data: data.has_headline,
    ),
    Section(
        """## Reliability by scenario type

`process.reliability` is the share of conversations with all expected calls, no unnecessary call, and correct arguments: the business
process was followed.

- **High for all types**: business processes are followed correctly.
- **High for some types, low for others**: some workflows are handled better than others. Check the lowest first.
- **Low for all types**: fundamental issues in following business processes.
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
        """## Scores by scenario

The mean over all trials of a scenario, lowest first, 50 at most. A scenario that passes in some trials and fails in others is not reliable,
even if its mean looks acceptable.
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
        """## Scores by tool

The mean by expected tool (the first, if several are expected), most frequent first. "(no call)" are cases in which no call is expected.
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
        """## Scores by position in the conversation

The mean by the number of messages before the decision point. If scores drop toward the right, the model loses track in long conversations.
""",
        {
            "positions-chart": """
positions = summary.details.breakdowns.by_position
found = display_table([{"messages before": part.name, "n": part.n, "score": part.means.get(run.headline)} for part in positions])
alt.Chart(found, title=f"{one_line(run.headline, 60)} by position in the conversation", width=420).mark_line(point=True).encode(
    x=alt.X("messages before:O", sort=None, title="messages before the decision point", axis=alt.Axis(labelAngle=0)),
    y=alt.Y("score:Q", title="mean", scale=alt.Scale(domain=[0, 1])),
)
""",
            "positions-table": """
found.set_index("messages before")
""",
        },
        lambda data: not data.run.scenarios and len(data.details.breakdowns.by_position) > 1,
    ),
    Section(
        """## Scores by conversation

The mean over all decision points and trials of a conversation, lowest first, 50 at most.
""",
        {
            "conversations-table": """
each = scored.groupby(scored["conversation"].fillna(scored["case"]).rename("id"), sort=False)
table = each[main].mean().assign(predictions=each.size()).reset_index()
table = table.sort_values([run.headline, "id"]).head(50).rename(columns={"id": "conversation"})
display_table(table).set_index("conversation")
""",
        },
        lambda data: not data.run.scenarios and data.has_headline,
    ),
    Section(
        """## Precision and recall by tool

Precision is the share of the model's calls to a tool that were expected; recall is the share of the expected calls that the model made.
Improve the functions with the lowest values first. With few calls, the values are not reliable.
""",
        {
            "functions-chart": """
functions = display_table(to_builtins(summary.details.functions.functions[:50]))
measured = functions.head(20).melt(id_vars="name", value_vars=["precision", "recall"], var_name="measure", value_name="share")
alt.Chart(measured, title="Precision and recall by tool", height=alt.Step(9)).mark_bar().encode(
    y=alt.Y("name:N", sort=None, title=None),
    yOffset="measure:N",
    x=alt.X("share:Q", title=None, scale=alt.Scale(domain=[0, 1])),
    color=alt.Color("measure:N", title=None),
)
""",
            "functions-table": """
functions.rename(columns={"correct": "all arguments correct"}).set_index("name")
""",
        },
        lambda data: bool(data.details.functions.functions),
        "No call was expected, and no tool was called.",
    ),
    Section(
        """## Trials

Each case has several trials. `pass@k` is the probability that at least one of k trials passes, `pass^k` that all of them pass. `pass^k` is
what matters if a process has to work every time. The further apart the two are, the less consistent the model is.
""",
        {
            "trials-chart": """
tried = summary.details.trials
passes = pd.DataFrame([{"k": one.k, "pass@k": one.any, "pass^k": one.every, "cases": one.cases} for one in tried.pass_rates])
lines = passes.melt(id_vars="k", value_vars=["pass@k", "pass^k"], var_name="measure", value_name="share")
alt.Chart(lines, title="pass@k and pass^k", width=320, height=200).mark_line(point=True).encode(
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
pd.DataFrame([{"": name, "same outcome in every trial": one.same, "n": one.n} for name, one in same.items() if one.n]).set_index("")
""",
        },
        lambda data: data.details.trials is not None,
    ),
    Section(
        """## Usage

Latency in seconds (median and 95th percentile), and the total of tokens, cost (if a price is set) and retries.
""",
        {
            "usage-table": """
display_table([to_builtins(summary.usage)]).rename(columns=lambda name: name.replace("_", " ")).T.set_axis(["value"], axis="columns")
""",
        },
        lambda data: data.summary.usage is not None,
    ),
)
