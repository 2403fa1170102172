"""Values, keys and tokens that broke programs before: lone surrogates, huge numbers, escape sequences, matchers, markers of calls."""

from typing import Any

STRINGS = (
    '', ' ', 'a', '0', '-1', 'null', 'true', '\x00', '\x1b[31m', '\u202e', '\ud800', '\udfff\ud800', '\xe9', 'e\u0301',
    "\u0301\u0323" * 50, '\ufb03', '\u0130', '\U0001f600', "a" * 5000, '../../etc/passwd', '/dev/zero', '$any', '$set', '$one_of', '{}',
    '[]', '{"a": 1}', "{'a': 1}", "[" * 250, '{"a":' * 250, 'NaN', 'Infinity', '1e999', '2025-05-10', '10 May 2025',
    '2025-05-10T10:00:00+02:00', '12:30', "**" * 40, 'a*b?c', '(a+)+$', '\\', "`" * 10, '<tool_call>', '</tool_call>',
    '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', '<tools>', '</tools>', '<think>', '</think>', '[TOOL_CALLS]',
    '[ARGS]', '<|python_tag|>', '<function=f>', '</function>', 'f(a=1)', "[f(a=1), g(b='x')]", '```json', '```', '<|im_end|>',
    '<tool_response>', 'functions.', 'multi_tool_use.parallel', '::error::x', '\n', '\r', '\u2028', 'sha256:', 'python:os:system',
    'cmd:touch x', 'mcp:touch x', 'http://127.0.0.1:1/', 'openai:gpt', 'module:name', 'callmark', 'system', 'user', 'assistant', 'tool',
    'developer', 'gpt', 'human', 'function', 'tool_use', 'tool_result', 'text', 'image_url', 'complete', 'running', 'decision points',
    'scenarios', 'call.score', 'hallucinated',
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 7, 255, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.1, -0.0, 1e-320, 1e+308, 12.5, 1.0,
)  # fmt: skip
KEYS = tuple(
    """
    id messages tools role content tool_calls function_call function name arguments args input parameters tool_call_id type text
    conversations from value system item expected_output alternatives source conversation message call tools_ref
    expected_function_calls functionName instructions scenarioType task_completion_condition data group traj reward info actions
    output choices sample output_tools prediction case trial error calls metrics faults expected actual pairs usage transcript
    states status model_run dataset grading evaluators properties required enum items anyOf allOf oneOf $ref $defs
    additionalProperties pattern default format minimum maxLength patternProperties if then not $id $schema $dynamicRef
    unevaluatedProperties multipleOf $any $optional $literal $glob $case $regex $one_of $set $approx $abs $rel $date $text $ratio
    $contains $not
    """.split()  # noqa: SIM905 - a list would be a page long
)
MATCHERS: tuple[Any, ...] = (
    {'$any': True}, {'$optional': 'a'}, {'$literal': {'$any': True}}, {'$glob': 'a*'}, {'$glob': '**a**b**', '$case': False},
    {'$regex': 'a+'}, {'$regex': '(a|aa)+$'}, {'$one_of': ['a', {'$any': True}]}, {'$set': ['a', 'b']},
    {"$set": [{"$one_of": ["a", "b"]}] * 6}, {'$approx': 1, '$abs': 0.1}, {'$approx': 1e+308, '$rel': 1e+308}, {'$date': '2025-05-10'},
    {'$text': 'a b', '$ratio': 0.5}, {'$contains': 'a'}, {'$not': {'$not': 'a'}}, {'$unknown': 1},
)  # fmt: skip
_SYNTAX = (
    b'{', b'}', b'[', b']', b'"', b',', b':', b'\\u', b'\\ud800', b'\xff', b'\xef\xbb\xbf', b'\x1f\x8b', b'(\xb5/\xfd', b'1e999', b'-',
    b'NaN', b'null', b'&a ', b'*a', b'<<: ', b'!!python/object/apply:os.system ', b'- ', b'? ', b'|\n', b'%', b'---\n', b'\t', b'# ',
    b'[[', b']]\n', b' = ',
)  # fmt: skip
TOKENS = (*_SYNTAX, *(text.encode("utf-8", "surrogatepass") for text in (*STRINGS, *(f'"{key}":' for key in KEYS)) if len(text) < 200))
