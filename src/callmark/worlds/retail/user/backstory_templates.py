"""Templates of backstories that depend on the product and on the option to change: nobody finds a laptop too tight."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.worlds.retail.language.noun_phrases import SIZES

_PRODUCT_GROUPS: Mapping[str, Sequence[str]] = {
    "worn": ("T-Shirt", "Jeans", "Rain Jacket", "Fleece Jacket", "Winter Hat"),
    "shoes": ("Running Shoes", "Hiking Boots", "Sneakers"),
    "carried": ("Leather Belt", "Wallet", "Sunglasses", "Wristwatch", "Backpack", "Suitcase"),
    "device": ("Laptop", "Tablet", "Smartphone", "Smart Watch", "E-Reader", "Action Camera"),
    "sound": ("Wireless Earbuds", "Headphones", "Bluetooth Speaker"),
    "desk": ("Mechanical Keyboard", "Gaming Mouse", "Monitor", "Webcam", "Desk Lamp", "Office Chair"),
    "home": ("Bookshelf", "Floor Rug", "Curtains", "Bed Sheets", "Pillow", "Wool Blanket", "Vacuum Cleaner"),
    "kitchen": ("Electric Kettle", "Coffee Maker", "Espresso Machine", "Toaster", "Blender", "Air Fryer", "Frying Pan"),
    "outdoors": ("Water Bottle", "Yoga Mat", "Dumbbell Set", "Mountain Bike", "Bike Helmet", "Tent"),
    "game": ("Jigsaw Puzzle",),
}
_GROUP_OF = {name: kind for kind, names in _PRODUCT_GROUPS.items() for name in names}

_RETURN_BACKSTORIES: Mapping[str, str] = {
    "worn": "[{itdoes} not [sit right|suit me|look good on me|go with anything I own]|the [fabric|cut|feel of it] [isn't for me|bothers "
    "me|isn't what I'm used to]|I tried {it} on [twice|at home] and {itis} just not me].",
    "shoes": "[{they} [rub|pinch|chafe] [at the heel|at the toes|after ten minutes|when I walk]|my [knee|ankle|back] [doesn't get along "
    "with|complains in] {it}|I [tried|wore] {it} around the house and [they hurt|it's no good|they squeak]].",
    "carried": "[{itis} [smaller|bigger|heavier|stiffer] than [I thought|it looked in the pictures|I imagined]|I [found my old {ones} "
    "again|had my old {ones} repaired|kept my old {ones} after all]|{itdoes} not go with [the rest of my things|anything I wear|what I "
    "have]].",
    "device": "[my [office|employer|company] [gave|is giving|handed] me {one}|I'm [not getting on|struggling|at odds] with [the menus|the "
    "controls|the screen]|I [got my old {ones} to work again|had my old {ones} repaired|find my old {ones} good enough after all]|{itis} "
    "more [than I need|than I'll ever use]].",
    "sound": "[the sound [isn't for me|is too flat for me|is not what I hoped]|I [can't get used to|don't get along with] [the sound|the "
    "feel] of {it}|my [son|daughter|roommate] [already has|bought] the same].",
    "desk": "[there's no [room|space|good spot] for {it} on my desk|I'm [back at the office|no longer working from home|changing jobs], "
    "so I [won't use {it}|have no use for {it}]|my [office|employer|company] [provides|paid for|gave me] {one} [already|now]].",
    "home": "[{itdoes} not [fit in|match|go with] [the room|the bedroom|the rest of the apartment|our place]|we [redecorated|rearranged "
    "everything|changed our plans] and {itis} [in the way|out of place]|{itis} not [what I pictured|as nice as in the photo] [here|at "
    "home|in our light]].",
    "kitchen": "[there's no [room|space] [for {it} in my kitchen|on the counter]|we [got|were given|received] {one} [for our wedding|as a "
    "housewarming gift|from my parents]|my [partner|roommate] [had bought|already owns|brought along] {one}].",
    "outdoors": "[I [hurt my knee|hurt my back|gave up on my plans|joined a gym instead], so {itis} [just standing around|of no use|"
    "gathering dust]|the [trip|tour|course] [was called off|is off|got cancelled][, sadly|]|a friend [lent|gave] me {one}].",
    "game": "[we [have done|already own|finished] {it} [before|once|already]|{itwas} for a [rainy weekend|party] that never happened|the "
    "[kids|children] [lost interest|prefer something else]].",
}
_TOO_LARGE = (
    "[{itis} [too big|too loose|a bit large|a size too big|rather baggy][ on me| for me|]|I [swim in|get lost in] {it}|I should have gone "
    "a size down].",
    "[{itis} [too big|too loose|a bit large|a size too big][ on me| for me|]|my [heels|feet] [slip out|slide around]|I should have gone a "
    "size down].",
    "[{itis} [bigger|larger] than [I expected|I need|I thought]|I [measured again|had that measured], and [smaller is right|a smaller one "
    "will do]].",
)
_TOO_SMALL = (
    "[{itis} [too small|too tight|a bit snug|a size too small|tight around the shoulders][ on me| for me|]|I can [hardly|barely] get into "
    "{it}|I should have gone a size up].",
    "[{itis} [too small|too tight|a bit narrow|a size too small][ on me| for me|]|my toes [hurt|have no room]|I should have gone a size "
    "up].",
    "[{itis} [smaller|tinier] than [I expected|I need|I thought]|I [measured again|had that measured], and [it won't do|it has to be "
    "bigger]].",
)
_ORDERED_TOO_LARGE = (
    "[I [measured myself|checked the size chart|tried a friend's on] [again|today|afterwards], and I [need a smaller size|should go down]|"
    "I ordered too big]."
)
_ORDERED_TOO_SMALL = (
    "[I [measured myself|checked the size chart|tried a friend's on] [again|today|afterwards], and I [need a bigger size|should go up]|I "
    "ordered too small]."
)
_COLOR = (
    "[the color [doesn't suit me|isn't for me|looks different in daylight|clashes with everything]|my [partner|daughter|sister|friend] "
    "[can't stand|dislikes|laughed at] the color|I [see now|realize] that the color [is wrong|doesn't work]].",
    "[I picked the color [too quickly|in bad light|without asking my partner]|my [partner|daughter|sister|friend] [prefers|likes] another "
    "color [better|much more|]|I keep thinking about the other color].",
)
_MORE_CAPACITY = (
    "[I [checked|looked at] what I [store|use] [and it won't be enough|and need more]|a colleague [told|advised|urged] me to [take more|"
    "get more]]."
)
_LESS_CAPACITY = "[I [don't need|would never use] [that much|all of that]|a colleague said I'd [never need|not use] that much]."
_MEASURES = ("size", "waist")


def backstories(goal: Mapping[str, Any]) -> list[str]:
    """Return the backstories that fit the goal's only item; empty if only generic ones fit, or for several items."""
    items = goal["items"]
    if len(items) != 1 or goal["other_product"] or goal["refusal_reason"] == "not delivered":
        return []
    item, kind = items[0], _GROUP_OF.get(items[0]["name"], "")
    if goal["kind"] == "return":
        return [_RETURN_BACKSTORIES[kind]] if kind else []
    if goal["kind"] not in ("exchange", "order items"):
        return []
    delivered = goal["kind"] == "exchange"
    found = []
    for name, new in item["changes"].items():
        larger = _is_larger(item["options"].get(name, ""), new)
        if name in _MEASURES and kind in ("worn", "shoes") and larger is not None:
            found.append(
                (_TOO_SMALL if larger else _TOO_LARGE)[kind == "shoes"]
                if delivered
                else _ORDERED_TOO_SMALL
                if larger
                else _ORDERED_TOO_LARGE
            )
        elif name == "size" and larger is not None and delivered:
            found.append((_TOO_SMALL if larger else _TOO_LARGE)[2])
        elif name == "color":
            found.append(_COLOR[0 if delivered else 1])
        elif name in ("memory", "storage") and larger is not None and "replacement" in goal["volunteered_slots"]:
            found.append(_MORE_CAPACITY if larger else _LESS_CAPACITY)
    return found


def _is_larger(old: str, new: str) -> bool | None:
    """Return whether a size is larger than another; None if they cannot be compared."""
    if old in SIZES and new in SIZES:
        return SIZES.index(new) > SIZES.index(old)
    numbers = [text.split()[0] for text in (old, new) if text]
    if len(numbers) == 2 and all(number.replace(".", "", 1).isdigit() for number in numbers) and old.split()[1:] == new.split()[1:]:
        return float(numbers[1]) > float(numbers[0])
    return None
