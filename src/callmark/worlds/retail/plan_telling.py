"""What people say unasked: with their greeting, and with each wish. The rest they are asked for."""

from collections.abc import Mapping

from callmark.worlds.retail.plan_draft import Draft, Wish, difference

_WISH, _LOGIN = 0.93, 0.55  # of the greetings that have them
_WITH_THE_WISH: Mapping[str, Mapping[str, float]] = {  # by kind of wish, what may be told with it, and how often it is
    "cancel": {"order": 0.75, "reason": 0.5},
    "order address": {"order": 0.75, "address": 0.6},
    "default address": {"address": 0.65},
    "order items": {"order": 0.7, "items": 0.9, "wanted": 0.8},
    "exchange": {"order": 0.7, "items": 0.9, "wanted": 0.8},
    "return": {"order": 0.7, "items": 0.9, "payment": 0.35},
    "order payment": {"order": 0.7, "payment": 0.65},
    "order status": {"order": 0.8},
    "price question": {"order": 0.75, "items": 1, "wanted": 1},
    "human": {"topic": 0.5},
    "beyond scope": {"topic": 1},
    "other customer": {"order": 1},
}


def what_is_told(draft: Draft) -> list[str]:
    """What the greeting has beside a hello. What goes with each wish is entered there."""
    for wish in draft.wishes:
        wish["tells"] = _told(draft, wish)
    return [name for name, often in (("wish", _WISH), ("login", _LOGIN)) if draft.chance.random() < often]


def _told(draft: Draft, wish: Wish) -> list[str]:
    chances = dict(_WITH_THE_WISH.get(wish["kind"], {}))
    if wish["because"] == "part of an order":
        chances["items"] = 1
    if wish["same_address"]:
        chances["address"] = 1
    if wish["after_refusal"]:
        chances["topic"] = 1
    if wish["kind"] in ("order items", "exchange") and not wish["other_product"] and difference(wish["items"]):
        chances["payment"] = 0.3
    told = [name for name, often in chances.items() if draft.chance.random() < often]
    if wish["kind"] in ("order items", "exchange") and "items" not in told:
        told = [name for name in told if name != "wanted"]
    return told
