"""The checks of the Berkeley Function Calling Leaderboard, for the evaluator `bfcl`: its verdicts and its types of errors."""
