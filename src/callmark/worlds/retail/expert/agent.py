"""The store's expert: an agent that makes no mistakes. It knows the plan, but uses only what the user said and the tools returned.

It asks for missing slots, looks up data before it acts, reads details back before every write and waits for a yes. It makes one call at a
time.
"""

from collections.abc import Callable, Mapping

from callmark import BadInput, Call, Case, Message, ModelError, Session
from callmark.worlds.retail import tools
from callmark.worlds.retail.expert import refusal_templates, statement_templates
from callmark.worlds.retail.expert.dialogue import ClarificationError, ExpertDialogue, Steps, Turn
from callmark.worlds.retail.expert.item_swaps import swap_items
from callmark.worlds.retail.expert.order_tasks import (
    cancel_order,
    change_default_address,
    change_order_address,
    change_order_payment,
    return_items,
)
from callmark.worlds.retail.expert.question_templates import QUESTIONS_BY_ACT
from callmark.worlds.retail.expert.questions import answer_order_question, answer_price_question, answer_product_question
from callmark.worlds.retail.expert.slot_matching import EMAIL_ADDRESS, mentions_all
from callmark.worlds.retail.plans.draft import Goal

_MAX_QUOTED = 80  # characters of a tool result in an error


class RetailExpert:
    """An agent for the simulator. It is stateless: each turn, it replays the dialogue from the session's messages."""

    async def reply(self, session: Session) -> None:
        """Make calls one at a time until there is something to say, then say it.

        A scenario without a plan of the store raises `ModelError`, and so does a tool result that the store would not return.
        """
        steps = run_dialogue(session.case, session.trial)
        try:
            turn: Turn = next(steps)
        except BadInput as error:
            raise ModelError(str(error)) from None
        for message in session.messages:
            if message.role in ("user", "tool"):
                turn = steps.send(message.text)
        call_count = sum(len(message.calls) for message in session.messages)
        while isinstance(turn, Call):
            call_count += 1
            call = Call(turn.name, turn.arguments, f"call_{call_count}")
            session.messages.append(Message("assistant", "", (call,)))
            result = await session.toolbox.call(call)
            session.misses += result.missed
            session.messages.append(Message("tool", result.text, (), call.id, call.name))
            try:
                turn = steps.send(result.text)
            except (LookupError, TypeError, ValueError, AttributeError, RuntimeError):  # a field is missing or of another type
                quoted = result.text[:_MAX_QUOTED].encode("utf-8", "backslashreplace").decode() or "nothing"
                raise ModelError(f"the expert cannot use the result of {call.name}: {quoted}") from None
        session.messages.append(Message("assistant", turn))


def run_dialogue(case: Case, trial: int) -> Steps[None]:
    """Run a dialogue, starting with the user's first message. It never ends: after a goodbye, it says goodbye again."""
    dialogue = ExpertDialogue(case, trial)
    dialogue.record_user_turn((yield ""))
    try:
        yield from _authenticate(dialogue)
        yield from _handle_goals(dialogue)
    except ClarificationError:
        yield from _transfer_to_human(dialogue, "something that could not be cleared up in this chat")
    act = "goodbye" if dialogue.plan["goals"][-1]["outcome"] == "done" else "goodbye_after_no"
    while True:
        yield from dialogue.say(QUESTIONS_BY_ACT[act])


def _handle_goals(dialogue: ExpertDialogue) -> Steps[None]:
    goals = dialogue.plan["goals"]
    if "goal" not in dialogue.plan["volunteered_slots"]:
        yield from dialogue.say(QUESTIONS_BY_ACT["ask_goal"])
    for goal in goals:
        if goal is not goals[0]:
            dialogue.start_next_goal()
        yield from _HANDLERS[goal["kind"]](dialogue, goal)
        if goal["outcome"] == "refused" and goal["refusal_reaction"] == "asks why":
            yield from dialogue.say(refusal_templates.EXPLANATIONS[goal["refusal_reason"]])


def _authenticate(dialogue: ExpertDialogue) -> Steps[None]:
    """Find the user by email, else by name and zip code. Raise `ClarificationError` if neither finds a user."""
    customer, mistyped = dialogue.plan["customer"], dialogue.plan["mistyped_email"]
    name_zip = {"first_name": customer["first_name"], "last_name": customer["last_name"], "zip": customer["zip"]}

    def is_mistyped() -> bool:
        return bool(mistyped) and mistyped in dialogue.goal_text.casefold()

    if not EMAIL_ADDRESS.search(dialogue.goal_text) and not is_mistyped() and not mentions_all(dialogue.goal_text, name_zip.values()):
        yield from dialogue.say(QUESTIONS_BY_ACT["ask_email"])
    email, account = EMAIL_ADDRESS.search(dialogue.goal_text), None
    if email:
        account = yield from dialogue.call_tool(tools.FIND_BY_EMAIL, email=email[0])
    if not isinstance(account, dict):
        if not mentions_all(dialogue.goal_text, name_zip.values()):
            act = "inform_not_found" if email else "inform_incomplete_email" if is_mistyped() else "ask_name_zip"
            yield from dialogue.ask(act, lambda text: mentions_all(text, name_zip.values()), email=email[0] if email else mistyped)
        account = yield from dialogue.call_tool(tools.FIND_BY_NAME_ZIP, **name_zip)
    if not isinstance(account, dict):
        raise ClarificationError
    dialogue.user = yield from dialogue.call_tool(tools.GET_USER, user_id=account["user_id"])


def _refuse_other_customer(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    yield from dialogue.say(refusal_templates.REFUSALS["not theirs"], order=goal["order_id"])


def _handle_transfer(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    if "topic" not in goal["volunteered_slots"]:
        yield from dialogue.say(QUESTIONS_BY_ACT["ask_topic"])
    topic = f" {goal['topic']} ".replace(" my ", " their ").strip()
    if goal["after_refusal"]:
        goals = dialogue.plan["goals"]
        refused_goal = goals[goals.index(goal) - 1]
        topic = statement_templates.REFUSED_REQUEST_SUMMARIES[refused_goal["kind"]].format(order=refused_goal["order_id"])
    yield from _transfer_to_human(dialogue, topic)


def _transfer_to_human(dialogue: ExpertDialogue, topic: str) -> Steps[None]:
    customer = dialogue.plan["customer"]
    summary = dialogue.render(statement_templates.TRANSFER_SUMMARIES, name=f"{customer['first_name']} {customer['last_name']}", topic=topic)
    yield from dialogue.call_tool(tools.TRANSFER, summary=summary)
    yield from dialogue.say(QUESTIONS_BY_ACT["inform_transfer"])


_HANDLERS: Mapping[str, Callable[[ExpertDialogue, Goal], Steps[None]]] = {
    "cancel": cancel_order,
    "order address": change_order_address,
    "default address": change_default_address,
    "order items": swap_items,
    "exchange": swap_items,
    "return": return_items,
    "order payment": change_order_payment,
    "product question": answer_product_question,
    "price question": answer_price_question,
    "order status": answer_order_question,
    "human": _handle_transfer,
    "beyond scope": _handle_transfer,
    "other customer": _refuse_other_customer,
}
