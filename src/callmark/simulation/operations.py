"""Operations: tools with what is known of their responses, from whatever describes them: an OpenAPI file, a tool list, an MCP server."""

from typing import Any

from msgspec import Struct

from callmark.types import Tool


class Operation(Struct, frozen=True):
    """An operation as a tool, with the schema and the description of its successful response; both are empty if there is none."""

    tool: Tool
    method: str
    path: str
    summary: str = ""
    response: dict[str, Any] = {}
    response_description: str = ""

    @property
    def writes(self) -> bool:
        """Return whether the operation may change data, judging by its method."""
        return self.method not in ("get", "head", "options", "trace")


class Api(Struct, frozen=True):
    """An API: a title and a description, which may be empty, and its operations."""

    title: str
    description: str
    operations: tuple[Operation, ...]
