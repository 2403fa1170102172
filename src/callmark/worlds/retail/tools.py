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
_ORDER = _text("The order number including the leading '#', such as '#W1234567'")
ADDRESS = {
    "address1": _text("Street and number, such as '123 Main Street'"),
    "address2": _text("Apartment, suite or unit, such as 'Apt 1'; '' if there is none"),
    "city": _text("The city, such as 'San Francisco'"),
    "state": _text("The two-letter state code, such as 'CA'"),
    "country": _text("The country, such as 'USA'"),
    "zip": _text("The zip code, such as '94110'"),
}
_OLD = _texts("The ids of the items in the order, such as '1008292230'. An item that was ordered twice may be listed twice")
_NEW = _texts("The ids of the replacement items, one for each item, in the same order, each a variant of the same product")
_DIFFERENCE = _text("The customer's payment method that the price difference is charged or refunded to, such as 'gift_card_1234567'")

TOOLS = (
    _tool(
        CALCULATE,
        "Evaluate an arithmetic expression. Use it for every total or price difference that you tell the customer.",
        expression=_text("Numbers, + - * /, parentheses and spaces, such as '2 * (19.99 + 5)'"),
    ),
    _tool(
        CANCEL_ORDER,
        "Cancel a pending order. The refund goes to the original payment method: immediately to a gift card, otherwise within 5 to 7 "
        "business days. The customer must have confirmed it. Returns the updated order.",
        order_id=_ORDER,
        reason=_text("Why the customer cancels", one_of=REASONS),
    ),
    _tool(
        EXCHANGE_ITEMS,
        "Exchange items of a delivered order for other variants of the same products. An order can be returned or exchanged only once, so "
        "include all items in one call. The customer must have confirmed it. Returns the updated order.",
        order_id=_ORDER,
        item_ids=_OLD,
        new_item_ids=_NEW,
        payment_method_id=_DIFFERENCE,
    ),
    _tool(
        FIND_BY_EMAIL,
        "Find the customer's id by email address. Returns an error if no customer has it.",
        email=_text("The email address, such as 'sara.doe12@example.com'"),
    ),
    _tool(
        FIND_BY_NAME_ZIP,
        "Find the customer's id by name and zip code, if the email address is unknown or not found. "
        "Returns an error if there is no such customer.",
        first_name=_text("The first name, such as 'Sara'"),
        last_name=_text("The last name, such as 'Doe'"),
        zip=_text("The zip code of the customer's default address, such as '94110'"),
    ),
    _tool(GET_ORDER, "Get an order: status, address, items, payments.", order_id=_ORDER),
    _tool(
        GET_PRODUCT,
        "Get a product type with all its variants: item id, options, price, availability.",
        product_id=_text("The product id, such as '6086499569'. It is not an item id"),
    ),
    _tool(GET_USER, "Get a customer: name, email, default address, payment methods, order numbers.", user_id=_USER),
    _tool(LIST_PRODUCT_TYPES, "List the names of all fifty product types, each with its product id."),
    _tool(
        MODIFY_ORDER_ADDRESS,
        "Change the shipping address of a pending order. The customer must have confirmed it. Returns the updated order.",
        order_id=_ORDER,
        **ADDRESS,
    ),
    _tool(
        MODIFY_ORDER_ITEMS,
        "Replace items of a pending order with other variants of the same products. This is possible once per order, which cannot be "
        "changed or cancelled afterwards, so include all items in one call. The customer must have confirmed it. "
        "Returns the updated order.",
        order_id=_ORDER,
        item_ids=_OLD,
        new_item_ids=_NEW,
        payment_method_id=_DIFFERENCE,
    ),
    _tool(
        MODIFY_ORDER_PAYMENT,
        "Change the payment method of a pending order; the earlier payment is refunded. The customer must have confirmed it. "
        "Returns the updated order.",
        order_id=_ORDER,
        payment_method_id=_text("The customer's new payment method for the order, such as 'credit_card_1234567'"),
    ),
    _tool(
        MODIFY_USER_ADDRESS,
        "Change a customer's default address, not the addresses of orders. The customer must have confirmed it. "
        "Returns the customer's details.",
        user_id=_USER,
        **ADDRESS,
    ),
    _tool(
        RETURN_ITEMS,
        "Return items of a delivered order. An order can be returned or exchanged only once, so include all items in one call. "
        "The customer must have confirmed it, and receives an email with return instructions. Returns the updated order.",
        order_id=_ORDER,
        item_ids=_OLD,
        payment_method_id=_text("The payment method for the refund: that of the order, or a gift card of the customer"),
    ),
    _tool(
        TRANSFER,
        "Transfer the customer to a human agent: only if they ask for one, or if no tool can do what they need.",
        summary=_text("What the customer wants and what was done so far, in a sentence or two"),
    ),
)
