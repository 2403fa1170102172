"""The page that shows runs: as one file that opens from disk, and over a folder of runs."""
