"""Read YAML files that people write, such as templates and rules. Plain values only, no tags; dates stay strings.

A duplicate key is an error, because one of the two values would be lost.
"""

from collections import Counter
from typing import Any

from callmark.errors import BadInput


def read_yaml(text: str, name: str, *, hint: str = "") -> Any:
    """Return the value of a YAML text. Invalid YAML raises `BadInput` with the name and, if it is known, the line."""
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
                raise BadInput(f"{name}, line {node.start_mark.line + 1}: duplicate key {repeated!r}")
            return node

    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadInput(f"{name}{line}: not valid YAML: {error.problem or error.context}", hint) from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadInput(f"{name}: not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise BadInput(f"{name}: nested too deeply to read") from None
