"""Rows of Gemini contents, from the objects of google-genai. Run in an environment with google-genai.

python google_genai.py SAMPLES FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

from google import genai  # type: ignore[import-not-found, unused-ignore]
from google.genai import types  # type: ignore[import-not-found, unused-ignore]
from stand_in import result_of, segments, stand_in, system, write_rows  # type: ignore[import-not-found, unused-ignore]


def converse(sample: Any, address: str, *, by_alias: bool, exclude_none: bool) -> Any:
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=address))
    declarations = [
        types.FunctionDeclaration(
            name=tool["name"],
            description=tool["description"],
            parameters=types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(tool["parameters"])),
        )
        for tool in sample["tools"]
    ]
    tools = [types.Tool(function_declarations=declarations)]
    config = types.GenerateContentConfig(tools=tools, system_instruction=system(sample) or None)
    contents: list[Any] = []
    for text in segments(sample):
        contents.append(types.Content(role="user", parts=[types.Part(text=text)]))
        while True:
            content = client.models.generate_content(model="stand-in", contents=contents, config=config).candidates[0].content
            contents.append(content)
            calls = [part.function_call for part in content.parts if part.function_call]
            if not calls:
                break
            results = [
                types.FunctionResponse(id=call.id, name=call.name, response={"result": result_of(sample, call.id)}) for call in calls
            ]
            contents.append(types.Content(role="user", parts=[types.Part(function_response=result) for result in results]))

    def dump(value: Any) -> Any:
        return value.model_dump(mode="json", by_alias=by_alias, exclude_none=exclude_none)

    instruction = types.Content(parts=[types.Part(text=system(sample))]) if system(sample) else None
    row = {"id": sample["id"], "contents": [dump(content) for content in contents], "tools": [dump(tool) for tool in tools]}
    key = "systemInstruction" if by_alias else "system_instruction"
    return row | ({key: dump(instruction)} if instruction else {})


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    for name, by_alias, exclude_none in (("gemini_contents", True, True), ("gemini_contents_snake_case", False, False)):
        rows = []
        for sample in samples:
            with stand_in(sample) as address:
                rows.append(converse(sample, address, by_alias=by_alias, exclude_none=exclude_none))
        write_rows(folder / f"{name}.jsonl", rows)


main()
