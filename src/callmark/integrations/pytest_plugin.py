"""What pytest imports whenever callmark is installed: the hooks of the plugin (`pytest_hooks.py`).

A version of pytest or pluggy that lacks what they need must go on working, so it gets no hooks but those that fail a test with the mark.
"""

import inspect

import pytest

_NEEDED = "@pytest.mark.callmark needs pytest 7 and pluggy 1.2, or later: pip install --upgrade pytest pluggy"

if hasattr(pytest, "StashKey") and "wrapper" in inspect.signature(pytest.hookimpl).parameters:
    from callmark.integrations.pytest_hooks import (
        callmark_result,
        pytest_addoption,
        pytest_configure,
        pytest_configure_node,
        pytest_generate_tests,
        pytest_pyfunc_call,
        pytest_runtest_setup,
        pytest_sessionfinish,
        pytest_terminal_summary,
        pytest_unconfigure,
    )

    __all__ = [
        "callmark_result",
        "pytest_addoption",
        "pytest_configure",
        "pytest_configure_node",
        "pytest_generate_tests",
        "pytest_pyfunc_call",
        "pytest_runtest_setup",
        "pytest_sessionfinish",
        "pytest_terminal_summary",
        "pytest_unconfigure",
    ]
else:

    def pytest_configure(config: "pytest.Config") -> None:
        """Register the mark."""
        config.addinivalue_line("markers", f"callmark(cases, *, model=...): {_NEEDED}")

    def pytest_runtest_setup(item: "pytest.Item") -> None:
        """Fail a test with the mark."""
        if item.get_closest_marker("callmark") is not None:
            pytest.fail(_NEEDED, pytrace=False)
