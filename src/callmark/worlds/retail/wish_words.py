"""The words of one wish: which phrases it has, what the order and the goods are called in it, and what agrees with them in number."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from callmark.worlds.retail import openings, reactions
from callmark.worlds.retail.circumstances import circumstances
from callmark.worlds.retail.naming import all_called, article, is_plural, noun, several, version, wanted, way_to_pay, written_address
from callmark.worlds.retail.wishes import ACTIONS, OTHERS, QUESTIONS

Wish = Mapping[str, Any]

_KNOWN_REASONS = ("no longer needed", "ordered by mistake")
_ON_ITEMS = ("return", "exchange", "order items", "price question")  # kinds that are about goods; their phrases name the order with them
_FORMS = ("it", "itis", "itwas", "itdoes", "they", "one", "ones", "comes", "does")
_OF_ITS_KIND = ("one", "ones")  # the others stand for the thing itself
_MARK = re.compile(r"\0(\w+)\0")


def parts_of(wish: Wish, chance: Random) -> Sequence[Mapping[str, str]]:
    """The phrases of a wish, to be taken instead of those that fit any."""
    kind, tells = wish["kind"], wish["tells"]
    if kind in ACTIONS:
        phrases = ACTIONS[kind]
        which = " wanted" if "wanted" in tells else " part" if kind == "cancel" and wish["items"] else ""
        vp = phrases[f"vp{which}"]
        yours, mine = (f"[{vp}|{phrases[own]}]" if own in phrases else vp for own in (f"yours{which}", f"mine{which}"))
        return [{"vp": yours, "my": mine, "why": _why(wish, chance), "do": reactions.YES[kind]}]
    if kind in QUESTIONS:
        question = QUESTIONS[wish["question"]]
        which = " wanted" if "wanted" in tells and "wh wanted" in question else ""
        why = QUESTIONS[kind].get(f"why {wish['question']}", QUESTIONS[kind]["why"])
        return [openings.QUESTION_FRAMES, {"wh": question[f"wh{which}"], "direct": question[f"direct{which}"], "why": why}]
    others = OTHERS[kind]
    return [openings.PERSONAL_FRAMES, {"my": others["vp"], "why": "" if "topic" in tells else others["why"]}]


def told_by(wish: Wish, chance: Random) -> dict[str, str]:
    """The values that a wish is said with: names of the order and the goods, and whatever it may tell at once."""
    order = _order(wish, chance)
    values = {
        "order": order,
        "goods": _goods(wish, order, chance),
        "reason": wish["reason"],
        "topic": wish["topic"],
        "whose": wish["whose"],
    }
    if wish["other_product"]:
        values["wanted"] = another(wish)
    elif wish["items"] and "changes" in wish["items"][0]:
        values["wanted"] = wanted(wish["items"], chance)
    if wish["product"]:
        name, plural = noun(wish["product"]), is_plural(wish["product"])
        values |= {
            "product": name,
            "products": several(wish["product"]),
            "version": f"the {version(wish['wanted_options'], name, plural=plural)}",
        }
    if wish["payment"]:
        values["payment"] = way_to_pay(wish["payment"], chance, before=paid_before(wish))
    if wish["address"]:
        values["address"] = written_address(wish["address"], chance)
    return values


def why_first(wish: Wish, values: Mapping[str, str], say: Callable[[Mapping[str, str]], str]) -> dict[str, str]:
    """How it came about, said before what is wanted: then things are called by name here, and `it` afterwards. `say` says the why with the
    values that it is given.
    """
    thing = "goods" if wish["kind"] in _ON_ITEMS else "order"
    said = say({**values, **{form: f"\0{form}\0" for form in _FORMS}})
    first = _MARK.search(said)
    if first is None:
        return {"why": said}
    named = said.replace(first[0], _named(wish, first[1], values[thing]), 1)
    why = {"why": _MARK.sub(lambda found: values[found[1]], named)}
    return why if first[1] in _OF_ITS_KIND or wish["product"] else why | {thing: values["it"]}


def statement_of(wish: Wish, told: str) -> str:
    """The sentence in which something is told with a wish; an empty text for what stands in the wish itself."""
    if told == "payment":
        return {"return": "<tell refund>", "order payment": "<tell payment>"}.get(wish["kind"], "<tell difference>")
    if told == "address":
        return "<same address>" if wish["same_address"] else f"<tell {'default' if wish['kind'] == 'default address' else 'address'}>"
    if told == "topic":
        return "<tell topic>" if wish["kind"] == "human" else ""
    return reason_of(wish) if told == "reason" else ""


def reason_of(wish: Wish) -> str:
    """The phrase that says why they cancel."""
    return f"<{wish['reason']}>" if wish["reason"] in _KNOWN_REASONS else "<other reason>"


def another(wish: Wish) -> str:
    """The other product that they would like."""
    name = noun(wish["other_product"])
    return name if is_plural(name) else f"{article(name)} {name}"


def paid_before(wish: Wish) -> Mapping[str, Any] | None:
    """What the order was paid with, where they may mean that by `the original one`: not where it is just what they want changed."""
    return None if wish["kind"] == "order payment" else wish["paid_with"]


def agreeing(wish: Wish) -> dict[str, str]:
    """Words that agree in number with what the wish is about."""
    singular = ("it", "it's", "it was", "it does", "it", "one", "one", "comes", "does")
    plural = ("them", "they're", "they were", "they do", "they", "some", "ones", "come", "do")
    return dict(zip(_FORMS, plural if _is_about_several(wish) else singular, strict=True))


def _is_about_several(wish: Wish) -> bool:
    if wish["product"]:
        return is_plural(wish["product"])
    if wish["kind"] not in _ON_ITEMS:
        return False
    return len(wish["items"]) > 1 or ("items" in wish["tells"] and is_plural(wish["items"][0]["name"]))


def _named(wish: Wish, form: str, thing: str) -> str:
    """One of the words that agree, with the name of the thing, or of its kind, in its place."""
    name = wish["product"] or (wish["items"][0]["name"] if wish["items"] and "items" in wish["tells"] else "")
    if form in _OF_ITS_KIND or wish["product"]:
        single = form == "ones" or not name or is_plural(name)
        return "the same thing" if not name else noun(name) if single else f"{article(noun(name))} {noun(name)}"
    verbs = {"itis": ("is", "are"), "itwas": ("was", "were"), "itdoes": ("does", "do")}
    return f"{thing} {verbs[form][_is_about_several(wish)]}" if form in verbs else thing


def _why(wish: Wish, chance: Random) -> str:
    """How it came about: what fits the goods where there is such a thing, else what fits any. Nothing where a reason is told anyway, or
    where the order is in another state than they would say.
    """
    kind, because = wish["kind"], wish["because"]
    if (
        "reason" in wish["tells"]
        or because in ("delivered", "cancelled", "part of an order")
        or wish["other_product"]
        or wish["same_order"]
    ):
        return ""
    if because == "not delivered":
        return ACTIONS["return"]["why early"] if kind == "return" else ACTIONS["order items"]["why"]
    fitting = circumstances(wish) if "items" in wish["tells"] else []
    return chance.choice([*fitting, *fitting, ACTIONS[kind]["why"]])


def _order(wish: Wish, chance: Random) -> str:
    """The order in the middle of a sentence."""
    if wish["same_order"]:
        return chance.choice(("the same order", "that order", "that same order", "the order we just talked about"))
    if wish["kind"] == "other customer":
        return str(wish["order_id"])
    if "order" not in wish["tells"]:
        return chance.choice(("an order", "one of my orders", "my order", "an order of mine", "an order I placed"))
    if _is_told_by_its_goods(wish):
        return "my order"
    if not wish["knows_order"]:
        name = noun(wish["described_by"])
        return chance.choice((f"my order with the {name}", f"the order that has the {name}", f"the order with the {name} in it"))
    number = wish["wrong_order_id"] or wish["order_id"]
    return chance.choice((f"order {number}", f"my order {number}", f"order number {number}", f"my order ({number})"))


def _goods(wish: Wish, order: str, chance: Random) -> str:
    """The goods in the middle of a sentence, with their order where that is known or they have no name."""
    told = "items" in wish["tells"]
    if not told:
        goods = chance.choice(
            ("a few things", "some things", "several items") if len(wish["items"]) > 1 else ("something", "an item", "one item")
        )
    else:
        goods = chance.choice(("all the items", "all the things")) if wish["all_items"] else all_called(wish["items"], chance)
    if wish["kind"] not in _ON_ITEMS or (told and not wish["all_items"] and "order" not in wish["tells"] and not wish["same_order"]):
        return goods
    if _is_told_by_its_goods(wish):
        return chance.choice((goods, f"{goods.replace('my ', 'the ')} I ordered", f"{goods.replace('my ', 'the ')} I bought"))
    return f"{goods} {chance.choice(('in', 'from'))} {order}"


def _is_told_by_its_goods(wish: Wish) -> bool:
    """Whether an order without a number is known already by the goods that are named."""
    named = [item["name"] for item in wish["items"]] if "items" in wish["tells"] and not wish["all_items"] else []
    return not wish["knows_order"] and wish["described_by"] in named
