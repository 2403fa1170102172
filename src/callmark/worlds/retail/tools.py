"""The store's tool definitions: names, descriptions, JSON Schemas."""

from typing import Any

from callmark import Tool
from callmark.worlds.retail.store.orders import REASONS

FIND_BY_EMAIL = "find_user_id_by_email"
FIND_BY_NAME_ZIP = "find_user_id_by_name_zip"
GET_USER = "get_user_details"
GET_ORDER = "get_order_details"
GET_PRODUCT = "get_product_details"
LIST_PRODUCT_TYPES = "list_all_product_types"
CANCEL_ORDER = "cancel_pending_order"
MODIFY_ORDER_ADDRESS = "modify_pending_order_address"
MODIFY_ORDER_ITEMS = "modify_pending_order_items"
MODIFY_ORDER_PAYMENT = "modify_pending_order_payment"
MODIFY_USER_ADDRESS = "modify_user_address"
RETURN_ITEMS = "return_delivered_order_items"
EXCHANGE_ITEMS = "exchange_delivered_order_items"
CALCULATE = "calculate"
TRANSFER = "transfer_to_human_agents"
WRITES = (
    CANCEL_ORDER,
    MODIFY_ORDER_ADDRESS,
    MODIFY_ORDER_ITEMS,
    MODIFY_ORDER_PAYMENT,
    MODIFY_USER_ADDRESS,
    RETURN_ITEMS,
    EXCHANGE_ITEMS,
)


def _text(description: str, *, one_of: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "string", "description": description} | ({"enum": list(one_of)} if one_of else {})


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _tool(name: str, description: str, **properties: dict[str, Any]) -> Tool:
    """Return a tool definition in which every argument is required."""
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return Tool(name, description, schema)


_USER = _text("The customer's id, such as 'sara_doe_496'")
_ORDER = _text("The order's number with the '#' that it begins with, such as '#W1234567'")
ADDRESS = {
    "address1": _text("Street and number, such as '123 Main Street'"),
    "address2": _text("Apartment, suite or unit, such as 'Apt 1'; '' if there is none"),
    "city": _text("The city, such as 'San Francisco'"),
    "state": _text("The state's two letters, such as 'CA'"),
    "country": _text("The country, such as 'USA'"),
    "zip": _text("The zip code, such as '94110'"),
}
_OLD = _texts("The ids of the items in the order, such as '1008292230'. An item that was ordered twice may be listed twice")
_NEW = _texts("The ids of the items that come in their place, one for each, in the same order, each a variant of the same product")
_DIFFERENCE = _text("The customer's payment method that the price difference is charged or refunded to, such as 'gift_card_1234567'")

TOOLS = (
    _tool(
        CALCULATE,
        "Work out a sum. Use it for every total or price difference that you tell the customer.",
        expression=_text("Numbers, + - * /, parentheses and spaces, such as '2 * (19.99 + 5)'"),
    ),
    _tool(
        CANCEL_ORDER,
        "Cancel a pending order. What was paid goes back the way it was paid: to a gift card at once, else within 5 to 7 business days. "
        "The customer must have confirmed it. Gives the order as it is then.",
        order_id=_ORDER,
        reason=_text("Why the customer cancels", one_of=REASONS),
    ),
    _tool(
        EXCHANGE_ITEMS,
        "Exchange items of a delivered order for other variants of the same products. An order is returned or exchanged once only, so "
        "it must have all items at a time. The customer must have confirmed it. Gives the order as it is then.",
        order_id=_ORDER,
        item_ids=_OLD,
        new_item_ids=_NEW,
        payment_method_id=_DIFFERENCE,
    ),
    _tool(
        FIND_BY_EMAIL,
        "Find out who the customer is by their email address. An error says that nobody has it.",
        email=_text("The email address, such as 'sara.doe12@example.com'"),
    ),
    _tool(
        FIND_BY_NAME_ZIP,
        "Find out who the customer is by name and zip code, where the email address is unknown or finds nobody. "
        "An error says that there is no such customer.",
        first_name=_text("The first name, such as 'Sara'"),
        last_name=_text("The last name, such as 'Doe'"),
        zip=_text("The zip code of the customer's own address, such as '94110'"),
    ),
    _tool(GET_ORDER, "An order: status, address, items, payments.", order_id=_ORDER),
    _tool(
        GET_PRODUCT,
        "A product type with all its variants: item id, options, price, whether it is available.",
        product_id=_text("The product's id, such as '6086499569'. It is not an item's id"),
    ),
    _tool(GET_USER, "A customer: name, email, default address, payment methods, order numbers.", user_id=_USER),
    _tool(LIST_PRODUCT_TYPES, "The names of all fifty product types, each with its product id."),
    _tool(
        MODIFY_ORDER_ADDRESS,
        "Send a pending order to another address. The customer must have confirmed it. Gives the order as it is then.",
        order_id=_ORDER,
        **ADDRESS,
    ),
    _tool(
        MODIFY_ORDER_ITEMS,
        "Replace items of a pending order by other variants of the same products. That works once for an order, and it cannot be changed "
        "or cancelled afterwards, so it must have all items at a time. The customer must have confirmed it. Gives the order as it is then.",
        order_id=_ORDER,
        item_ids=_OLD,
        new_item_ids=_NEW,
        payment_method_id=_DIFFERENCE,
    ),
    _tool(
        MODIFY_ORDER_PAYMENT,
        "Let a pending order be paid by another payment method; what was paid before is refunded. The customer must have confirmed it. "
        "Gives the order as it is then.",
        order_id=_ORDER,
        payment_method_id=_text("The customer's payment method that pays instead, such as 'credit_card_1234567'"),
    ),
    _tool(
        MODIFY_USER_ADDRESS,
        "Change a customer's default address; addresses of orders stay. The customer must have confirmed it. Gives the customer's details.",
        user_id=_USER,
        **ADDRESS,
    ),
    _tool(
        RETURN_ITEMS,
        "Take back items of a delivered order. An order is returned or exchanged once only, so it must have all items at a time. "
        "The customer must have confirmed it, and gets an email that says how to send them back. Gives the order as it is then.",
        order_id=_ORDER,
        item_ids=_OLD,
        payment_method_id=_text("What the refund goes to: what the order was paid with, or a gift card of the customer"),
    ),
    _tool(
        TRANSFER,
        "Hand the customer over to a human agent: only where they ask for one, or where no tool can do what they need.",
        summary=_text("What the customer wants and what was done so far, in a sentence or two"),
    ),
)
