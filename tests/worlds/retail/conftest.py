"""A store for each test, copied from the same seeded one."""

import pytest

from callmark.worlds.retail.store.store import Store


@pytest.fixture(scope="session")
def seeded() -> Store:
    return Store(7)


@pytest.fixture
def store(seeded: Store) -> Store:
    return seeded.copy()
