"""The page that shows runs: as a report in one HTML file, and as a viewer over a folder of runs."""
