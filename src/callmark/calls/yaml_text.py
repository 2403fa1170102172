"""Read YAML that people write: templates and rules. Plain values only, no tags; dates stay text.

A repeated key in one object is refused: one of the two values would be lost.
"""

from collections import Counter
from typing import Any

from callmark.errors import BadInput


def read_yaml(text: str, name: str, *, hint: str = "") -> Any:
    """Return the value of a YAML text. Text that is not YAML raises `BadInput` with the name and, where it is known, the line."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - as in the base class
            first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
            for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            if repeated := next((key for key, count in keys.items() if count > 1), None):
                raise BadInput(f"{name}, line {node.start_mark.line + 1}: the key {repeated!r} stands twice in one object")
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
