"""The store's expert: an agent that does everything right. It knows the plan, but uses only what the customer said and the tools gave.

It asks for what is missing, looks before it acts, sums up before every write and waits for a yes, one call at a time.
"""

from collections.abc import Callable, Mapping

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.simulation.agents import with_ids
from callmark.simulation.session import Session
from callmark.types import Call, Case, Message
from callmark.worlds.retail import expert_facts, expert_refusals, tools
from callmark.worlds.retail.answers import answer_about_a_price, answer_about_a_product, answer_about_an_order
from callmark.worlds.retail.errands import cancel, change_default_address, change_order_address, change_order_payment, send_back
from callmark.worlds.retail.expert_words import WORDS
from callmark.worlds.retail.hearing import EMAIL, says_all
from callmark.worlds.retail.plan_draft import Wish
from callmark.worlds.retail.service import GivesUp, Service, Steps, Turn
from callmark.worlds.retail.swapping import swap

_LONGEST_TOLD = 80  # characters of an answer


class Expert:
    """An agent of the simulator. It remembers nothing between turns: a conversation is had again up to where it stands."""

    async def reply(self, talk: Session) -> None:
        """Everything up to what it says: one call after the other, then the text. Answers that the store would not give, of a server that
        only has its tools, raise `ModelError`.
        """
        steps = conversation(talk.case, talk.trial)
        try:
            turn: Turn = next(steps)
        except BadInput as error:
            raise ModelError(str(error)) from None
        for message in talk.messages:
            if message.role in ("user", "tool"):
                turn = steps.send(message.text)
        while isinstance(turn, Call):
            (call,) = with_ids((turn,), talk)
            talk.messages.append(Message("assistant", "", (call,)))
            result = await talk.toolbox.call(call)
            talk.misses += result.missed
            talk.messages.append(Message("tool", result.text, (), call.id, call.name))
            try:
                turn = steps.send(result.text)
            except (LookupError, TypeError, ValueError, AttributeError, RuntimeError):  # whatever is missing in it, or is something else
                told = scrub(result.text[:_LONGEST_TOLD]) or "nothing"
                raise ModelError(f"the expert cannot go on with what {call.name} answered: {told}") from None
        talk.messages.append(Message("assistant", turn))


def conversation(case: Case, trial: int) -> Steps[None]:
    """Begins by listening, and never ends: whoever goes on after the goodbye is told goodbye again."""
    service = Service(case, trial)
    service.hear((yield ""))
    try:
        yield from _log_in(service)
        yield from _serve(service)
    except GivesUp:
        yield from _hand_over(service, "something that could not be cleared up in this chat")
    act = "goodbye" if service.plan["wishes"][-1]["outcome"] == "done" else "goodbye_after_no"
    while True:
        yield from service.say(WORDS[act])


def _serve(service: Service) -> Steps[None]:
    wishes = service.plan["wishes"]
    if "wish" not in service.plan["tells"]:
        yield from service.say(WORDS["ask_wish"])
    for wish in wishes:
        if wish is not wishes[0]:
            service.begin_anew()
        yield from _SERVED[wish["kind"]](service, wish)
        if wish["outcome"] == "refused" and wish["takes_refusal"] == "asks why":
            yield from service.say(expert_refusals.EXPLAINED[wish["because"]])


def _log_in(service: Service) -> Steps[None]:
    """By email; by name and zip code where it is not known, is none, or finds nobody. Raises `GivesUp` where that finds nobody either."""
    customer, mistyped = service.plan["customer"], service.plan["mistyped_email"]
    name = {"first_name": customer["first_name"], "last_name": customer["last_name"], "zip": customer["zip"]}

    def is_mistyped() -> bool:
        return bool(mistyped) and mistyped in service.heard.casefold()

    if not EMAIL.search(service.heard) and not is_mistyped() and not says_all(service.heard, name.values()):
        yield from service.say(WORDS["ask_email"])
    email, found = EMAIL.search(service.heard), None
    if email:
        found = yield from service.use(tools.FIND_BY_EMAIL, email=email[0])
    if not isinstance(found, dict):
        if not says_all(service.heard, name.values()):
            act = "not_found" if email else "incomplete_email" if is_mistyped() else "ask_name_zip"
            yield from service.ask(act, lambda heard: says_all(heard, name.values()), email=email[0] if email else mistyped)
        found = yield from service.use(tools.FIND_BY_NAME_ZIP, **name)
    if not isinstance(found, dict):
        raise GivesUp
    service.user = yield from service.use(tools.GET_USER, user_id=found["user_id"])


def _refuse_another_customer(service: Service, wish: Wish) -> Steps[None]:
    yield from service.say(expert_refusals.REFUSED["not theirs"], order=wish["order_id"])


def _transfer(service: Service, wish: Wish) -> Steps[None]:
    if "topic" not in wish["tells"]:
        yield from service.say(WORDS["ask_topic"])
    topic = f" {wish['topic']} ".replace(" my ", " their ").strip()
    if wish["after_refusal"]:
        wishes = service.plan["wishes"]
        refused = wishes[wishes.index(wish) - 1]
        topic = expert_facts.REQUESTS[refused["kind"]].format(order=refused["order_id"])
    yield from _hand_over(service, topic)


def _hand_over(service: Service, topic: str) -> Steps[None]:
    customer = service.plan["customer"]
    summary = service.worded(expert_facts.SUMMARY, name=f"{customer['first_name']} {customer['last_name']}", topic=topic)
    yield from service.use(tools.TRANSFER, summary=summary)
    yield from service.say(WORDS["transferred"])


_SERVED: Mapping[str, Callable[[Service, Wish], Steps[None]]] = {
    "cancel": cancel,
    "order address": change_order_address,
    "default address": change_default_address,
    "order items": swap,
    "exchange": swap,
    "return": send_back,
    "order payment": change_order_payment,
    "product question": answer_about_a_product,
    "price question": answer_about_a_price,
    "order status": answer_about_an_order,
    "human": _transfer,
    "beyond scope": _transfer,
    "other customer": _refuse_another_customer,
}
