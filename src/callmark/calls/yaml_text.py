"""YAML that people write: templates and rules. Plain values only, no tags; dates stay text.

A key that stands twice in one object is refused: one of the two would be lost.
"""

from collections import Counter
from typing import Any

from callmark.errors import BadInput


def read_yaml(text: str, name: str, *, hint: str = "") -> Any:
    """What a YAML text says. What is none raises `BadInput` with the name and, where it is known, the line."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - as the class it is taken from has it
            first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
            for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            if twice := next((key for key, count in keys.items() if count > 1), None):
                raise BadInput(f"{name}, line {node.start_mark.line + 1}: the key {twice!r} stands twice in one object")
            return node

    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadInput(f"{name}{line}: this is not YAML: {error.problem or error.context}", hint) from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadInput(f"{name} is not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise BadInput(f"{name} nests too deep to be read") from None
