"""The store's catalog: fifty product types, each with the options of its variants."""

from itertools import product as combinations
from random import Random
from typing import Any, NamedTuple

MIN_VARIANTS, MAX_VARIANTS = 6, 15


class ProductSpec(NamedTuple):
    """A product type: its base price, the values of each option, and surcharges for some values."""

    name: str
    price: float
    options: dict[str, tuple[str, ...]]
    extra: dict[str, int]


_COLORS = ("black", "white", "grey", "navy", "red")
_SIZES = ("S", "M", "L", "XL")
_SHOES = ("7", "8", "9", "10", "11")

PRODUCT_SPECS = (
    ProductSpec("T-Shirt", 18.99, {"color": _COLORS, "size": _SIZES, "neckline": ("crew neck", "v-neck")}, {}),
    ProductSpec(
        "Jeans",
        54.99,
        {"fit": ("slim", "straight", "relaxed"), "waist": ("30", "32", "34", "36"), "color": ("indigo", "black", "grey")},
        {},
    ),
    ProductSpec("Rain Jacket", 96.5, {"color": ("yellow", "navy", "olive"), "size": _SIZES, "lining": ("none", "fleece")}, {"fleece": 18}),
    ProductSpec(
        "Fleece Jacket", 72.0, {"color": ("charcoal", "teal", "burgundy"), "size": _SIZES, "zipper": ("half", "full")}, {"full": 6}
    ),
    ProductSpec(
        "Running Shoes",
        89.99,
        {"size": _SHOES, "color": ("black", "white", "blue", "red"), "sole": ("rubber", "foam")},
        {"foam": 15},
    ),
    ProductSpec(
        "Hiking Boots",
        124.95,
        {"size": _SHOES, "material": ("leather", "synthetic"), "waterproof": ("yes", "no")},
        {"leather": 24, "yes": 15},
    ),
    ProductSpec("Sneakers", 64.99, {"size": _SHOES, "color": ("white", "black", "green"), "material": ("canvas", "suede")}, {"suede": 20}),
    ProductSpec("Winter Hat", 21.5, {"color": ("cream", "forest green", "black", "rust"), "material": ("wool", "acrylic")}, {"wool": 7}),
    ProductSpec(
        "Leather Belt",
        34.99,
        {"color": ("brown", "black", "tan"), "length": ("32 inch", "36 inch", "40 inch"), "buckle": ("brass", "silver")},
        {},
    ),
    ProductSpec(
        "Wallet",
        42.0,
        {"color": ("brown", "black", "blue"), "material": ("leather", "canvas"), "coin pocket": ("yes", "no")},
        {"leather": 14},
    ),
    ProductSpec(
        "Sunglasses",
        78.0,
        {"frame": ("tortoise", "black", "gold"), "lens": ("brown", "green", "grey"), "polarized": ("yes", "no")},
        {"yes": 22},
    ),
    ProductSpec(
        "Wristwatch",
        149.0,
        {"strap": ("leather", "silicone", "steel"), "dial": ("white", "black", "blue"), "case": ("38 mm", "42 mm")},
        {"leather": 15, "steel": 40},
    ),
    ProductSpec(
        "Backpack",
        69.99,
        {"color": ("black", "grey", "green"), "capacity": ("18 L", "24 L", "32 L"), "laptop sleeve": ("yes", "no")},
        {"24 L": 12, "32 L": 24},
    ),
    ProductSpec(
        "Suitcase",
        129.0,
        {"size": ("cabin", "medium", "large"), "shell": ("hard", "soft"), "color": ("silver", "navy", "black")},
        {"medium": 30, "large": 55, "hard": 18},
    ),
    ProductSpec(
        "Laptop",
        849.0,
        {
            "screen": ("13 inch", "15 inch"),
            "memory": ("8 GB", "16 GB", "32 GB"),
            "storage": ("256 GB", "512 GB"),
            "color": ("silver", "space grey"),
        },
        {"15 inch": 150, "16 GB": 120, "32 GB": 300, "512 GB": 90},
    ),
    ProductSpec(
        "Tablet",
        329.0,
        {"screen": ("8 inch", "11 inch"), "storage": ("64 GB", "128 GB", "256 GB"), "color": ("silver", "rose", "black")},
        {"11 inch": 110, "128 GB": 60, "256 GB": 130},
    ),
    ProductSpec(
        "Smartphone",
        599.0,
        {"color": ("black", "white", "mint"), "storage": ("128 GB", "256 GB", "512 GB"), "memory": ("6 GB", "8 GB")},
        {"256 GB": 80, "512 GB": 190, "8 GB": 50},
    ),
    ProductSpec(
        "Smart Watch",
        219.0,
        {"band": ("silicone", "leather", "metal"), "color": ("black", "gold", "silver"), "cellular": ("yes", "no")},
        {"leather": 30, "metal": 60, "yes": 75},
    ),
    ProductSpec(
        "Wireless Earbuds",
        99.0,
        {"color": ("black", "white", "blue"), "noise cancelling": ("yes", "no"), "battery": ("5 hours", "8 hours")},
        {"yes": 45, "8 hours": 20},
    ),
    ProductSpec(
        "Headphones",
        159.0,
        {"type": ("over-ear", "on-ear"), "connection": ("wired", "bluetooth"), "color": ("black", "beige", "blue")},
        {"over-ear": 20, "bluetooth": 45},
    ),
    ProductSpec(
        "Bluetooth Speaker",
        79.0,
        {"color": ("black", "red", "teal"), "battery": ("10 hours", "20 hours"), "waterproof": ("yes", "no")},
        {"20 hours": 25, "yes": 12},
    ),
    ProductSpec(
        "Mechanical Keyboard",
        109.0,
        {"switch": ("linear", "tactile", "clicky"), "backlight": ("none", "white", "RGB"), "layout": ("full size", "80 %")},
        {"white": 10, "RGB": 22, "full size": 8},
    ),
    ProductSpec(
        "Gaming Mouse",
        59.0,
        {"color": ("black", "white"), "sensor": ("optical", "laser"), "connection": ("wired", "wireless")},
        {"laser": 10, "wireless": 25},
    ),
    ProductSpec(
        "Monitor",
        249.0,
        {"size": ("24 inch", "27 inch", "32 inch"), "resolution": ("full HD", "4K"), "stand": ("fixed", "adjustable")},
        {"27 inch": 70, "32 inch": 160, "4K": 120, "adjustable": 35},
    ),
    ProductSpec(
        "Webcam", 64.0, {"resolution": ("720p", "1080p", "4K"), "microphone": ("built-in", "none")}, {"1080p": 20, "4K": 65, "built-in": 10}
    ),
    ProductSpec(
        "Action Camera",
        279.0,
        {"resolution": ("1080p", "4K", "5K"), "waterproof": ("yes", "no"), "color": ("black", "silver")},
        {"4K": 60, "5K": 110, "yes": 25},
    ),
    ProductSpec(
        "E-Reader",
        139.0,
        {"screen": ("6 inch", "7 inch"), "storage": ("8 GB", "32 GB"), "color": ("black", "white")},
        {"7 inch": 40, "32 GB": 30},
    ),
    ProductSpec(
        "Desk Lamp",
        38.5,
        {"color": ("white", "black", "brass"), "power": ("mains", "USB", "battery"), "brightness": ("500 lumens", "800 lumens")},
        {"800 lumens": 9},
    ),
    ProductSpec(
        "Office Chair",
        189.0,
        {"material": ("mesh", "fabric", "leather"), "color": ("black", "grey", "blue"), "armrests": ("fixed", "adjustable")},
        {"leather": 80, "adjustable": 28},
    ),
    ProductSpec(
        "Bookshelf",
        119.0,
        {"wood": ("oak", "walnut", "pine"), "height": ("4 ft", "5 ft", "6 ft"), "finish": ("natural", "white")},
        {"oak": 30, "walnut": 55, "5 ft": 20, "6 ft": 40},
    ),
    ProductSpec(
        "Floor Rug",
        145.0,
        {"size": ("4 x 6 ft", "5 x 8 ft", "8 x 10 ft"), "color": ("ivory", "terracotta", "blue")},
        {"5 x 8 ft": 60, "8 x 10 ft": 160},
    ),
    ProductSpec(
        "Curtains",
        48.0,
        {"length": ("63 inch", "84 inch", "96 inch"), "color": ("linen", "sage", "charcoal"), "blackout": ("yes", "no")},
        {"84 inch": 8, "96 inch": 14, "yes": 12},
    ),
    ProductSpec(
        "Bed Sheets",
        58.0,
        {"size": ("twin", "queen", "king"), "material": ("cotton", "linen"), "color": ("white", "sand", "light blue")},
        {"queen": 12, "king": 20, "linen": 45},
    ),
    ProductSpec(
        "Pillow", 32.0, {"filling": ("down", "foam", "polyester"), "firmness": ("soft", "medium", "firm")}, {"down": 28, "foam": 14}
    ),
    ProductSpec(
        "Wool Blanket",
        84.0,
        {"color": ("oatmeal", "plaid", "moss"), "size": ("throw", "twin", "queen")},
        {"twin": 25, "queen": 45},
    ),
    ProductSpec(
        "Electric Kettle",
        39.99,
        {"capacity": ("1 L", "1.5 L", "2 L"), "material": ("steel", "glass"), "color": ("black", "white")},
        {"1.5 L": 6, "2 L": 11, "glass": 5},
    ),
    ProductSpec(
        "Coffee Maker",
        89.0,
        {"type": ("drip", "french press", "pod"), "capacity": ("2 cups", "6 cups", "12 cups"), "color": ("black", "steel")},
        {"6 cups": 15, "12 cups": 30},
    ),
    ProductSpec(
        "Espresso Machine",
        349.0,
        {"pressure": ("9 bar", "15 bar", "19 bar"), "operation": ("manual", "automatic"), "milk frother": ("yes", "no")},
        {"15 bar": 40, "19 bar": 90, "automatic": 150, "yes": 35},
    ),
    ProductSpec("Toaster", 44.0, {"slots": ("2", "4"), "color": ("steel", "cream", "red"), "bagel setting": ("yes", "no")}, {"4": 22}),
    ProductSpec(
        "Blender",
        79.99,
        {"speeds": ("3", "5", "10"), "jar": ("glass", "plastic"), "color": ("black", "white", "red")},
        {"5": 15, "10": 35, "glass": 12},
    ),
    ProductSpec(
        "Air Fryer",
        99.0,
        {"capacity": ("3 quarts", "5 quarts", "8 quarts"), "controls": ("dial", "touch")},
        {"5 quarts": 30, "8 quarts": 65, "touch": 15},
    ),
    ProductSpec(
        "Frying Pan",
        36.0,
        {"diameter": ("8 inch", "10 inch", "12 inch"), "material": ("cast iron", "non-stick", "stainless steel")},
        {"10 inch": 8, "12 inch": 15, "stainless steel": 18},
    ),
    ProductSpec(
        "Water Bottle",
        19.95,
        {"capacity": ("500 ml", "750 ml", "1 L"), "material": ("steel", "glass", "plastic"), "color": ("black", "blue", "green")},
        {"750 ml": 4, "1 L": 7, "steel": 8},
    ),
    ProductSpec(
        "Yoga Mat",
        29.0,
        {"thickness": ("4 mm", "6 mm", "8 mm"), "color": ("purple", "teal", "black"), "material": ("PVC", "cork")},
        {"6 mm": 5, "8 mm": 9, "cork": 20},
    ),
    ProductSpec(
        "Dumbbell Set",
        75.0,
        {"weight": ("10 lb", "20 lb", "40 lb"), "coating": ("rubber", "vinyl", "bare iron")},
        {"20 lb": 35, "40 lb": 95, "rubber": 12},
    ),
    ProductSpec(
        "Mountain Bike",
        620.0,
        {"frame": ("small", "medium", "large"), "color": ("red", "black", "green"), "gears": ("12", "18", "24")},
        {"18": 60, "24": 130},
    ),
    ProductSpec(
        "Bike Helmet", 49.0, {"size": ("S", "M", "L"), "color": ("white", "black", "orange"), "vents": ("standard", "extra")}, {"extra": 12}
    ),
    ProductSpec(
        "Tent",
        179.0,
        {"sleeps": ("2 people", "4 people", "6 people"), "seasons": ("three", "four"), "color": ("green", "orange")},
        {"4 people": 70, "6 people": 140, "four": 85},
    ),
    ProductSpec(
        "Jigsaw Puzzle",
        16.5,
        {"pieces": ("500", "1000", "2000"), "theme": ("animals", "landscape", "art"), "level": ("beginner", "expert")},
        {"1000": 5, "2000": 14},
    ),
    ProductSpec(
        "Vacuum Cleaner",
        159.0,
        {"type": ("upright", "canister", "robot"), "bag": ("bagged", "bagless"), "color": ("grey", "blue")},
        {"robot": 120, "bagless": 25},
    ),
)


def make_products(rng: Random) -> list[dict[str, Any]]:
    """Return every product type with its variants. For each type, some variants are sold out and at least four are available."""
    numbers = iter(rng.sample(range(10**9, 10**10), len(PRODUCT_SPECS) * (MAX_VARIANTS + 1)))
    return [_product(spec, rng, [str(next(numbers)) for _ in range(MAX_VARIANTS + 1)]) for spec in PRODUCT_SPECS]


def _product(spec: ProductSpec, rng: Random, numbers: list[str]) -> dict[str, Any]:
    combinations_ = list(combinations(*spec.options.values()))
    count = min(rng.randint(MIN_VARIANTS, MAX_VARIANTS), len(combinations_))
    sold_out = set(rng.sample(range(count), rng.randint(1, count // 3)))
    variants = [
        {
            "item_id": numbers[index + 1],
            "options": dict(zip(spec.options, values, strict=True)),
            "available": index not in sold_out,
            "price": round(spec.price + sum(spec.extra.get(value, 0) for value in values), 2),
        }
        for index, values in enumerate(rng.sample(combinations_, count))
    ]
    return {"product_id": numbers[0], "name": spec.name, "variants": variants}
