"""Templates of the expert's refusals by reason, of explanations when the user asks why, and of replies to a no."""

_SORRY = "[I'm sorry,|I'm sorry, {first}, but|Unfortunately,|I'm afraid that|Sorry, {first}, but]"
REFUSALS = {
    "shipped": (
        f"{_SORRY} order {{order}} has already been processed and is on its way, and only pending orders can be {{done}}. <more>",
        "I'm sorry, I cannot do that: order {order} is processed already, so it can no longer be {done}. <more>",
        "Order {order} has left our hands, it is processed. Only an order that is still pending can be {done}, sorry. <more>",
        "I looked at {order}. Unfortunately it is already processed, and from then on it cannot be {done}. <more>",
    ),
    "delivered": (
        f"{_SORRY} order {{order}} has already been delivered, and only pending orders can be {{done}}. <more>",
        "I'm sorry, {order} is marked as delivered. It can't be {done} any more. <more>",
        "I cannot do that, sorry: order {order} was delivered, and what is delivered cannot be {done}. <more>",
        "Unfortunately, it is too late for that: order {order} has been delivered. Only pending orders can be {done}. <more>",
    ),
    "cancelled": (
        f"{_SORRY} order {{order}} has been cancelled before, so it cannot be {{done}}. <more>",
        "I'm sorry, {order} is already cancelled. A cancelled order cannot be {done}. <more>",
        "I see that order {order} was cancelled already. I cannot do anything with it, sorry. <more>",
        "Unfortunately that order, {order}, is cancelled, which means that it can't be {done}. <more>",
    ),
    "not delivered": (
        f"{_SORRY} order {{order}} is still {{status}}. Only items that have been delivered can be {{done}}. <more>",
        "I'm sorry, that has to wait: {order} is {status}, and things can be {done} only after delivery. <more>",
        "I cannot do that yet. Order {order} is {status}; once it is delivered, its items can be {done}. <more>",
        "Unfortunately {order} has not been delivered, it is {status}. Until then nothing in it can be {done}. <more>",
    ),
    "other reason": (
        f"{_SORRY} I can cancel an order only when it is no longer needed or was ordered by mistake. So order {{order}} has to stay. "
        f"<more>",
        "I understand, {first}, but that is not a reason I may cancel for: only “no longer needed” and “ordered by mistake” are "
        "accepted. I'm sorry. <more>",
        "Thanks for telling me. Unfortunately I cannot cancel for that reason; it would have to be no longer needed, or ordered by "
        "mistake. <more>",
        "I'm sorry, for {order} that does not count as a reason to cancel. Our policy knows two: no longer needed, and ordered by "
        "mistake. <more>",
    ),
    "part of an order": (
        f"{_SORRY} single items cannot be taken out of an order. I can cancel {{order}} only as a whole. <more>",
        "I'm sorry, I can't remove just the {item}. An order is cancelled as a whole or not at all, so I have left {order} alone. <more>",
        "I cannot take the {item} out of order {order}, sorry. Only all of it could be cancelled. <more>",
        "Unfortunately it is all or nothing: {order} can be cancelled, the {item} alone cannot. I have not touched it. <more>",
    ),
    "changed once": (
        f"{_SORRY} the items of order {{order}} have been changed already, and after that it cannot be {{done}} any more. <more>",
        "I'm sorry, that isn't possible now: we have just changed items in {order}, and that can be done one time only. It can't be "
        "{done} after that. <more>",
        "I cannot do that, {first}, sorry. Once the items of an order were changed, as those of {order} were, it can no longer be "
        "{done}. <more>",
        "As I said, the items of {order} could be changed once. Unfortunately that also means that it can't be {done} now. <more>",
    ),
    "asked once": (
        f"{_SORRY} there is a request for order {{order}} already ({{status}}). A delivered order can be returned or exchanged once "
        f"only. <more>",
        "I'm sorry, I cannot add to it: {order} has the status “{status}”, and only one return or exchange is possible per order. <more>",
        "That's not possible any more, sorry. Order {order} is “{status}”, and a second request cannot be made for it. <more>",
        "Unfortunately one request per order is all there is, and {order} has one now ({status}). <more>",
    ),
    "sold out": (
        "<fine>. I'm sorry that I could not offer you more; order {order} stays as it is. <more>",
        "<fine>, then I leave order {order} as it is. Sorry that it was sold out. <more>",
        "I understand. Unfortunately that is all there is at the moment, so {order} stays unchanged. <more>",
        "That's a pity, I'm sorry. I have not touched {order}. <more>",
    ),
    "other product": (
        f"{_SORRY} the {{item}} can be swapped only for another version of the same product, not for {{other}}. <more>",
        "I'm sorry, I cannot turn the {item} into {other}: only the options of the same product can be chosen. <more>",
        "That is not possible, sorry: the {item} can become another {item}, but not {other}. <more>",
        "Unfortunately {other} would be a different product. The {item} can only be swapped for another version of itself. <more>",
    ),
    "gift card": (
        "<fine>. Unfortunately there is no other way then, and order {order} stays as it is. <more>",
        "<fine>, then I leave {order} as it is. I'm sorry that it did not work out. <more>",
        "I understand. I'm sorry, without another way to pay I cannot do it, so {order} stays unchanged. <more>",
        "<fine>. Sorry about that; I have changed nothing in {order}. <more>",
    ),
    "same method": (
        "I'm sorry, there is nothing to change: order {order} is already paid with {payment}. <more>",
        "Unfortunately I cannot switch it, since {order} was paid with {payment} in the first place. The new one has to be another. <more>",
        "I looked at {order}: {payment} is what it is paid with already. I can't change it to the same, sorry. <more>",
        "That's the one that {order} is on already, {payment}. I'm not able to change it to itself, I'm afraid. <more>",
    ),
    "not theirs": (
        f"{_SORRY} I can only talk about orders on your own account, and {{order}} is not one of them. <more>",
        "I'm sorry, {order} is not on your account. For privacy reasons I can help only with your own orders. <more>",
        "I cannot do that, sorry: {order} is not on your account, and I may serve only one customer in a conversation. <more>",
        "I understand that you mean well, but unfortunately {order} is not yours, so I'm not able to say or change anything about "
        "it. <more>",
    ),
}
EXPLANATIONS = {
    "shipped": (
        "Once an order is processed it is on its way to you, and our policy does not allow anything to be done about it then. <more>",
        "A processed order has been handed to the carrier[, {first}|]; from that moment on it is closed for changes of any kind. <more>",
    ),
    "delivered": (
        "Such changes are made while an order is pending. Yours has arrived already, so there is nothing left to change. <more>",
        "Because it has been delivered. Only what is still pending can be altered or stopped. <more>",
    ),
    "cancelled": (
        "A cancelled order is closed for good, and its payment was refunded. <more>",
        "It was cancelled, which cannot be taken back; nothing more can be done about it. <more>",
    ),
    "not delivered": (
        "Returns and exchanges are for things that have arrived. As long as it isn't delivered there is nothing to send back. <more>",
        "Our policy asks for the status “delivered”, and this order does not have it yet. <more>",
    ),
    "other reason": (
        "Our policy accepts two reasons only, and I have no way around that, {first}. <more>",
        "The system takes two reasons and no others: no longer needed, or ordered by mistake. <more>",
    ),
    "part of an order": (
        "A cancellation always covers the whole order, there is no way to take out a part of it. <more>",
        "Orders can only be cancelled as they are, with everything in them. <more>",
    ),
    "changed once": (
        "The items of a pending order can be changed one time; after that the order is closed for changes and cancellation. <more>",
        "That is the rule for pending orders: after one change of items it stays as it is. <more>",
    ),
    "asked once": (
        "Each delivered order can have one return or one exchange, and this one has had its turn. <more>",
        "The rule is one request per delivered order, and not both a return and an exchange. <more>",
    ),
    "sold out": (
        "The variant is out of stock, and I can only choose what is available now. <more>",
        "Because there is none left of that variant at the moment. <more>",
    ),
    "other product": (
        "Only the options of the same product can be changed, such as its color or size; another product is not covered by it. <more>",
        "The rule is that an item is replaced by another variant of the same product type, never by another product. <more>",
    ),
    "gift card": (
        "A gift card has to cover the whole amount, it can't be topped up by something else. <more>",
        "Because the balance has to be enough for all of it. <more>",
    ),
    "same method": (
        "The new payment method has to be another than the one that the order is paid with. <more>",
        "Changing it means moving the amount to another payment method, and here both would be the same. <more>",
    ),
    "not theirs": (
        "It's about privacy: in one conversation I help one customer, with what is on their own account. <more>",
        "I'm only allowed to help the customer whose account it is, whoever asks. <more>",
    ),
}
DECLINE_ACKNOWLEDGMENTS = (
    "<fine>, I have changed nothing. <more>",
    "<fine>. Everything stays as it is. <more>",
    "No problem at all, nothing was changed. <more>",
    "<fine>, then I leave it as it is. <more>",
    "That's fine, I have not done anything. Everything is unchanged. <more>",
    "<fine>, we leave it at that, nothing has been changed. <more>",
)
