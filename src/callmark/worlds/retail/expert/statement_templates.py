"""Templates of the expert's statements, by kind of goal or question: findings, planned and completed actions, and answers.

Refusals are in `refusal_templates`.
"""

ORDER_FOUND = (
    "Order {order} is {status} and has {items}.",
    "I have order {order} [here|open|in front of me]: {items}. It is {status}.",
    "I'm looking at order {order}, which is {status}. It contains {items}.",
    "[Thanks|Thank you], order {order} is {status}. In it I see {items}.",
    "I see order {order}: {items}, {status}.",
    "Your order {order} is {status}, with {items}.",
)
ORDER_FOUND_BY_SEARCH = (
    "I found it: that is order {order}, {status}, with {items}.",
    "I went through your orders, and the one with the {described} is {order}. It is {status} and has {items}.",
    "Got it, that must be order {order}, with the {described}. It is {status} and contains {items}.",
    "That would be order {order}: {items}. It is {status}.",
    "I looked [through your orders|it up] for you: the order is {order}, it is {status} and has {items}.",
)
ONLY_ORDER_FOUND = (
    "You have one order with us, {order}. It is {status} and has {items}.",
    "I see a single order on your account, {order}: {items}. It is {status}.",
    "There is only one order on your account, {order}, which is {status}. It contains {items}.",
    "Your only order is {order}, {status}, with {items}.",
)
AVAILABILITY = (
    "Good news: {new} can be had, {costs}.",
    "That is in stock: {new}, {costs}.",
    "We have {new}, {costs}.",
    "It's in stock, {first}: {new}, {costs}.",
    "I checked, and there is {new}, {costs}.",
)
IN_STOCK = ("It's available.", "Good news, that is in stock.", "We have that.", "Yes, we have that in stock.")
TRANSFER_SUMMARIES = (
    "The customer {name} wants to speak to a human agent about {topic}.",
    "{name} needs help with {topic}, and that cannot be settled with the tools at hand.",
    "Customer {name} asks for a person to take care of {topic}.",
    "It is about {topic}; the customer, {name}, was identified and would like a human agent.",
)
REFUSED_REQUEST_SUMMARIES = {
    "cancel": "a refused request to cancel order {order}",
    "order address": "a refused request to change the address of order {order}",
    "order items": "a refused request to change items of order {order}",
    "order payment": "a refused request to change the payment of order {order}",
    "exchange": "a refused request to exchange items of order {order}",
    "return": "a refused request to return items of order {order}",
    "other customer": "a refused request about order {order}, which is not theirs",
}

_LEAD = (
    "[To sum up|To make sure I have it right|Just to be sure|Just so that we agree|Let me read that back|So, {first}|"
    "In short|Let me summarise]"
)
CONFIRMATIONS = {
    "cancel": (
        f"{_LEAD}: I would cancel order {{order}} ({{items}}), reason “{{reason}}”. {{refund}} would go back to {{payment}} {{when}}. "
        f"<go_ahead>",
        f"{_LEAD}: order {{order}} with {{items}} gets cancelled as “{{reason}}”, and {{refund}} is refunded to {{payment}} {{when}}. "
        f"<go_ahead>",
        "I can cancel order {order} for you, it is {status}. You would get {refund} back on {payment} {when}; the reason on file "
        "would be “{reason}”. <go_ahead>",
        "That would cancel the whole order {order}: {items}. The refund of {refund} goes to {payment} {when}. I'd note “{reason}” as "
        "the reason. <go_ahead>",
        "Cancelling {order} means that {items} will not be sent, and that {refund} goes back to {payment} {when}. Reason: {reason}. "
        "<go_ahead>",
    ),
    "order address": (
        f"{_LEAD}: order {{order}} will be shipped to {{address}}. <go_ahead>",
        f"{_LEAD}: I would change the shipping address of order {{order}} to {{address}}. <go_ahead>",
        "Order {order} is {status}, so the address can be changed. The new one would be {address}. <go_ahead>",
        "The shipping address of {order} would then be {address}, in place of {old_address}. <go_ahead>",
        "So {items} from order {order} would go to {address} rather than {old_address}. <go_ahead>",
    ),
    "default address": (
        f"{_LEAD}: the default address of your account becomes {{address}}. <go_ahead>",
        f"{_LEAD}: I would change your default address from {{old_address}} to {{address}}. <go_ahead>",
        "Your account has {old_address} at the moment. I would replace it by {address}. <go_ahead>",
        "I'd save {address} as your new default address[; orders that you have placed already keep theirs|]. <go_ahead>",
        "The address on your profile would be {address} from now on. <go_ahead>",
    ),
    "order items": (
        f"{_LEAD}: in order {{order}} {{changes}}. {{difference}}. Items of an order can be changed only once, so please make sure that "
        "this is all. <go_ahead>",
        f"{_LEAD}, for order {{order}}: {{changes}}. {{difference}}. Please note that this can be done once per order. <go_ahead>",
        "{in_stock} In order {order}, {changes}. {difference}. Items can be changed only once, so nothing should be missing. <go_ahead>",
        "{in_stock} So for {order}: {changes}. {difference}. After that the items of this order are fixed. <go_ahead>",
        "{in_stock} That can be done for {order}: {changes}. {difference}. I can change the items of an order one time only. <go_ahead>",
    ),
    "exchange": (
        f"{_LEAD}: from order {{order}} {{changes}}. {{difference}}. A delivered order can be exchanged once, so please be sure that it "
        "is complete. <go_ahead>",
        f"{_LEAD}, for order {{order}}: {{changes}}. {{difference}}. <go_ahead>",
        "{in_stock} So from order {order}, {changes}. {difference}. An exchange can be asked for only once per order. <go_ahead>",
        "{in_stock} For {order}: {changes}. {difference}. You would get an email on how to send back what you have. <go_ahead>",
        "{in_stock} From order {order}, {changes}. {difference}. Please note that it is one exchange per order. <go_ahead>",
    ),
    "return": (
        f"{_LEAD}: you return {{items}} from order {{order}}, and {{refund}} goes to {{payment}}. A return can be asked for once per "
        f"order. <go_ahead>",
        f"{_LEAD}: a return of {{items}} (order {{order}}), with {{refund}} refunded to {{payment}}. <go_ahead>",
        "From order {order} we would take back {items}. You would get {refund} on {payment}, and an email on how to send everything "
        "back. <go_ahead>",
        "I'd set up the return of {items}, order {order}. The refund is {refund}, to {payment}. This can be done once per order, so "
        "it should be complete. <go_ahead>",
        "So you send back {items} from order {order} and get {refund} on {payment}. <go_ahead>",
    ),
    "order payment": (
        f"{_LEAD}: order {{order}} is paid with {{payment}} instead of {{paid}}. That is {{refund}}; {{paid}} gets it back {{when}}. "
        f"<go_ahead>",
        f"{_LEAD}: I would move the {{refund}} for order {{order}} from {{paid}} to {{payment}}. <go_ahead>",
        "Order {order} is {status}, so that is possible: {refund} would be charged to {payment}, and {paid} would be refunded "
        "{when}. <go_ahead>",
        "The payment of {order}, {refund}, would change from {paid} to {payment}. <go_ahead>",
        "I'd charge {refund} to {payment} for order {order} and refund {paid} {when}. <go_ahead>",
    ),
}

COMPLETIONS = {
    "cancel": (
        "[Done|All done], order {order} is cancelled. You will get {refund} back on {payment} {when}. <more>",
        "Order {order} has been cancelled[, {first}|]. {refund} goes to {payment} {when}. <more>",
        "That's cancelled. The {refund} for {order} will be on {payment} {when}. <more>",
        "{order} is cancelled now, and the refund of {refund} is on its way to {payment} ({when}). <more>",
    ),
    "order address": (
        "[Done|All set][, {first}|]: order {order} now ships to {address}. <more>",
        "The shipping address of {order} is updated to {address}. <more>",
        "That worked. {order} will be sent to {address}. <more>",
        "I have changed the address of order {order}; it goes to {city} now. <more>",
    ),
    "default address": (
        "[Done|All set][, {first}|]: your default address is now {address}. <more>",
        "Your account now has {address} as its address. <more>",
        "I have saved the new default address in {city}. <more>",
        "Your profile is updated: {address}. <more>",
    ),
    "order items": (
        "[Done|All set][, {first}|]: order {order} now has {new_items}. {settled}. <more>",
        "I have changed order {order}; you will get {new_items}. {settled}. <more>",
        "The change is made, {order} comes with {new_items}. {settled}. <more>",
        "That worked: {new_items} in order {order}. {settled}. <more>",
    ),
    "exchange": (
        "[Done|All set][, {first}|]: the exchange for order {order} is requested, you will get {new_items}. {settled}. An email will "
        "tell you how to send back what you have. <more>",
        "The exchange is set up, {new_items} for order {order}. {settled}. [Instructions for sending back what you have come by "
        "email|An email tells you how to send back what you have]. <more>",
        "I have requested the exchange for {new_items}. {settled}. Please watch your inbox for how to send back what you have. <more>",
        "That went through: {new_items}, order {order}. {settled}. No new order is needed; an email explains how to send back what you "
        "have. <more>",
    ),
    "return": (
        "[Done|All set][, {first}|]: the return of {items} is requested. {refund} goes to {payment}, and an email tells you how to "
        "send things back. <more>",
        "Your return for order {order} is set up. You will get {refund} on {payment}. Please look out for our email with the return "
        "instructions. <more>",
        "I have requested the return. The {refund} will go to {payment}; how to send it back is in the email that you will get. <more>",
        "The return from {order} is noted, with a refund of {refund} to {payment}. You will get an email with the next steps. <more>",
    ),
    "order payment": (
        "[Done|All set][, {first}|]: order {order} is now paid with {payment}. {Paid} gets {refund} back {when}. <more>",
        "I have switched order {order} to {payment}. The {refund} from before goes back to {paid} {when}. <more>",
        "The payment of {order} is changed to {payment}, and {refund} is returned to {paid} {when}. <more>",
        "That worked. {order} is on {payment} now; {paid} is refunded {when}. <more>",
    ),
}

PRODUCT_ANSWERS = {
    "options": (
        "The {product} {comes} in {options}. The price is {prices}. <more>",
        "You can choose {options}. The price is {prices}. <more>",
        "There is a choice of {options} for the {product}, and the price is {prices}. <more>",
    ),
    "count": (
        "There are {count} kinds of {product} in all, {available} of which are available right now. <more>",
        "I count {count} variants of the {product}; {available} of them are available. <more>",
        "At the moment {available} of our {count} versions of the {product} are available. <more>",
    ),
    "cheapest": (
        "The cheapest that is available is the {thing}, for {lowest}. <more>",
        "That would be the {thing}: {lowest}. There is none for less that is available. <more>",
        "For {lowest} you get the {thing}, the lowest price of those that are available. <more>",
    ),
    "available": (
        "Yes, the {thing} {is} available, at {price}. <more>",
        "Yes, we have that: the {thing} {is} available for {price}. <more>",
        "Good news, the {thing} {is} in stock. The price is {price}. <more>",
    ),
    "not available": (
        "The {thing} {is} part of our range, at {price}, but sold out at the moment. I'm sorry. <more>",
        "Unfortunately the {thing} {is} not available right now. The price would be {price}. <more>",
        "I'm sorry, the {thing} {is} sold out at present. <more>",
    ),
}
ORDER_ANSWERS = {
    "status": (
        "Order {order} is {status}[. It has {items}|]. <more>",
        "I looked it up: {order}, with {items}, is {status}. <more>",
        "The status of order {order} is “{status}”. <more>",
    ),
    "items": (
        "Order {order} has {items}. It came to {total} and is {status}. <more>",
        "Order {order} contains {items}. You paid {total}. <more>",
        "You ordered {items} in {order}, for {total}. It's {status}. <more>",
    ),
    "address": (
        "The address on order {order} is {address}. It is {status}. <more>",
        "The shipping address of {order} is {address}, and its status is “{status}”. <more>",
        "{order} has {address} as its address. It's {status}. <more>",
    ),
    "payment": (
        "Order {order} was paid with {paid}: {total}. <more>",
        "You paid {total} for {order} with {paid}. <more>",
        "For {order} we charged {total} to {paid}. <more>",
    ),
}
PRICE_ANSWERS = {
    "refund": (
        "For {items} from order {order} you would get {sum} back. <more>",
        "If you returned {items} of {order}, the refund would be {sum}. <more>",
        "That would be {sum} in all, for {items}. <more>",
    ),
    "total": (
        "Everything in order {order} together comes to {sum}. <more>",
        "The items of {order} add up to {sum}: {items}. <more>",
        "I added it up: {sum} for all of {order}. <more>",
    ),
    "difference": (
        "The {thing} would be {price}, which is {sum} {more_or_less} than what you have. <more>",
        "It would be {sum} {more_or_less}: {price} for the {thing}, where yours is {old_price}. <more>",
        "You have the {name} for {old_price}; the {thing} would be {price}, so {sum} {more_or_less}. <more>",
    ),
}
