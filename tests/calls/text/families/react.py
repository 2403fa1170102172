# ruff: noqa: E501 - texts as the models write them
from tests.calls.text.family import TIME, WEATHER, Family, dump

FAMILY = Family(
    "react",
    lambda calls: "\n".join(f"Action: {call.name}\nAction Input: {dump(call.arguments)}" for call in calls),
    [
        ('Action: get_weather\nAction Input: {"city": "Bonn"}', [WEATHER]),
        (
            'Action: get_weather\nAction Input: {"city": "Bonn"}\nObservation: It rains.\nThought: I know.\nAction: get_time\nAction Input: {}',
            [WEATHER],
        ),
        ('**Action:** get_weather\n**Action Input:** {"city": "Bonn"}', [WEATHER]),
        ('Action: get_weather\nAction Input:\n```json\n{"city": "Bonn"}\n```', [WEATHER]),
        ('Action:\n```json\n{"action": "get_weather", "action_input": {"city": "Bonn"}}\n```', [WEATHER]),
        ("Action: get_time\nAction Input: None", [TIME]),
    ],
    [
        "Action: refund approved",
        "Action: none\nAction Input: none",
        "Action items:\n- call Ann\n- book a room",
        "Thought: I know the answer.\nFinal Answer: It rains.",
        'Action: unlisted_tool\nAction Input: {"a": 1}',
    ],
    [
        ('Action: get_weather\nAction Input: {"city": "Bo', "get_weather"),
        ("Action: get_weather\nAction Input: {'city': 'Bonn'}", "get_weather"),
        ("Action: get_weather\nAction Input: Bonn", "get_weather"),
        ("Thought: I look it up.\nAction: get_weather", "get_weather"),
    ],
    thinking="Thought: {}\n",
)
