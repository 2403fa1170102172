"""The store's five hundred customers, with addresses in real cities and payment methods."""

from random import Random
from typing import Any

USERS = 500
MAX_GIFT_CARD_BALANCE = 500

FIRST_NAMES = (
    "Aaliyah", "Aiden", "Amelia", "Anaya", "Andre", "Anika", "Bianca", "Caleb", "Camila", "Carlos", "Chloe", "Daiki", "Daniel", "Dara",
    "Diego", "Elena", "Eli", "Emma", "Ethan", "Fatima", "Felix", "Gabriel", "Grace", "Hana", "Harper", "Hassan", "Imani", "Isaac", "Ivy",
    "Jamal", "Jasmine", "Joon", "Julia", "Kai", "Keisha", "Laila", "Leo", "Lucas", "Mason", "Maya", "Mei", "Miguel", "Nadia", "Naomi",
    "Noah", "Nora", "Olivia", "Omar", "Priya", "Quinn", "Rafael", "Rosa", "Sara", "Sofia", "Tariq", "Theo", "Valeria", "Victor", "Yara",
    "Zoe",
)  # fmt: skip
LAST_NAMES = (
    "Adams", "Ahmed", "Alvarez", "Baker", "Bennett", "Brooks", "Campbell", "Castillo", "Chen", "Coleman", "Cruz", "Davis", "Diaz", "Doe",
    "Edwards", "Fischer", "Flores", "Foster", "Garcia", "Gupta", "Hall", "Hayes", "Hernandez", "Hughes", "Ibrahim", "Ito", "Jackson",
    "Jensen", "Johansson", "Kapoor", "Khan", "Kim", "Kowalski", "Lee", "Lopez", "Martin", "Mbeki", "Mitchell", "Moore", "Morales",
    "Murphy", "Nguyen", "Novak", "Okafor", "Ortiz", "Park", "Patel", "Perez", "Ramirez", "Reed", "Rossi", "Sanchez", "Santos", "Sato",
    "Schmidt", "Silva", "Singh", "Taylor", "Thompson", "Wright",
)  # fmt: skip
CITIES = (
    ("Albuquerque", "NM", ("87102", "87106", "87110")),
    ("Atlanta", "GA", ("30303", "30308", "30309")),
    ("Austin", "TX", ("78701", "78704", "78745")),
    ("Baltimore", "MD", ("21201", "21224", "21230")),
    ("Boise", "ID", ("83702", "83704", "83706")),
    ("Boston", "MA", ("02108", "02116", "02118")),
    ("Buffalo", "NY", ("14201", "14214", "14222")),
    ("Charlotte", "NC", ("28202", "28205", "28209")),
    ("Chicago", "IL", ("60607", "60614", "60657")),
    ("Cincinnati", "OH", ("45202", "45208", "45220")),
    ("Cleveland", "OH", ("44102", "44113", "44114")),
    ("Columbus", "OH", ("43201", "43206", "43215")),
    ("Dallas", "TX", ("75201", "75204", "75214")),
    ("Denver", "CO", ("80202", "80205", "80211")),
    ("Detroit", "MI", ("48201", "48207", "48226")),
    ("Fort Worth", "TX", ("76102", "76107", "76110")),
    ("Houston", "TX", ("77002", "77008", "77019")),
    ("Indianapolis", "IN", ("46202", "46204", "46220")),
    ("Jacksonville", "FL", ("32202", "32205", "32207")),
    ("Kansas City", "MO", ("64105", "64111", "64113")),
    ("Las Vegas", "NV", ("89101", "89117", "89123")),
    ("Los Angeles", "CA", ("90012", "90026", "90036")),
    ("Louisville", "KY", ("40202", "40204", "40206")),
    ("Madison", "WI", ("53703", "53704", "53711")),
    ("Memphis", "TN", ("38103", "38104", "38111")),
    ("Miami", "FL", ("33130", "33131", "33137")),
    ("Milwaukee", "WI", ("53202", "53207", "53211")),
    ("Minneapolis", "MN", ("55401", "55406", "55408")),
    ("Nashville", "TN", ("37203", "37206", "37212")),
    ("New Orleans", "LA", ("70115", "70118", "70130")),
    ("New York", "NY", ("10003", "10011", "10025")),
    ("Omaha", "NE", ("68102", "68106", "68131")),
    ("Philadelphia", "PA", ("19103", "19107", "19147")),
    ("Phoenix", "AZ", ("85004", "85016", "85018")),
    ("Pittsburgh", "PA", ("15203", "15213", "15222")),
    ("Portland", "OR", ("97201", "97209", "97214")),
    ("Providence", "RI", ("02903", "02906", "02908")),
    ("Raleigh", "NC", ("27601", "27605", "27609")),
    ("Richmond", "VA", ("23220", "23221", "23223")),
    ("Sacramento", "CA", ("95814", "95816", "95818")),
    ("Salt Lake City", "UT", ("84101", "84103", "84105")),
    ("San Antonio", "TX", ("78205", "78209", "78212")),
    ("San Diego", "CA", ("92101", "92103", "92116")),
    ("San Francisco", "CA", ("94102", "94110", "94117")),
    ("San Jose", "CA", ("95112", "95125", "95126")),
    ("Seattle", "WA", ("98101", "98103", "98115")),
    ("St. Louis", "MO", ("63101", "63104", "63108")),
    ("Tampa", "FL", ("33602", "33606", "33609")),
    ("Tucson", "AZ", ("85701", "85705", "85719")),
    ("Washington", "DC", ("20001", "20002", "20009")),
)
STREETS = (
    "Alder Street", "Birch Lane", "Cedar Avenue", "Chestnut Street", "Clover Court", "Dogwood Drive", "Elm Street", "Fairview Road",
    "Garden Street", "Grove Avenue", "Harbor Road", "Hickory Lane", "Highland Avenue", "Hillcrest Drive", "Jefferson Street",
    "Juniper Way", "Lakeview Drive", "Laurel Street", "Lincoln Avenue", "Linden Street", "Magnolia Avenue", "Main Street", "Maple Drive",
    "Meadow Lane", "Mill Road", "Oak Street", "Orchard Road", "Park Avenue", "Pine Street", "Poplar Street", "Ridge Road",
    "River Road", "Spruce Street", "Sunset Drive", "Sycamore Street", "Valley Road", "Walnut Street", "Washington Avenue",
    "Willow Lane", "Windsor Court",
)  # fmt: skip
_MAIL = ("example.com", "example.net", "example.org")
_BRANDS = ("visa", "mastercard", "discover")


def make_address(rng: Random) -> dict[str, str]:
    """Return an address whose zip code belongs to its city; about half of them have a second line."""
    city, state, zips = rng.choice(CITIES)
    second = rng.choice((f"Apt {rng.randint(1, 40)}", f"Suite {rng.randrange(100, 900, 10)}", f"Unit {rng.randint(1, 30)}"))
    return {
        "address1": f"{rng.randint(10, 990)} {rng.choice(STREETS)}",
        "address2": second if rng.random() < 0.5 else "",
        "city": city,
        "state": state,
        "country": "USA",
        "zip": rng.choice(zips),
    }


def make_users(rng: Random) -> list[dict[str, Any]]:
    """Return the customers. Names, emails and payment methods are unique."""
    names = rng.sample([(first, last) for first in FIRST_NAMES for last in LAST_NAMES], USERS)
    numbers = iter(rng.sample(range(1_000_000, 10_000_000), 4 * USERS))
    return [_user(first, last, rng, [next(numbers) for _ in range(4)]) for first, last in names]


def _user(first: str, last: str, rng: Random, numbers: list[int]) -> dict[str, Any]:
    return {
        "user_id": f"{first}_{last}_{rng.randint(100, 999)}".lower(),
        "name": {"first_name": first, "last_name": last},
        "email": f"{first}.{last}{rng.randint(10, 99)}@{rng.choice(_MAIL)}".lower(),
        "address": make_address(rng),
        "payment_methods": _payment_methods(rng, numbers),
    }


def _payment_methods(rng: Random, numbers: list[int]) -> list[dict[str, Any]]:
    """Return one or two cards, a PayPal account or both, and for more than half of the customers a gift card."""
    card, second, account, gift = numbers
    cards, accounts = rng.choice(((1, 0), (1, 0), (0, 1), (1, 1), (1, 1), (2, 0)))
    methods: list[dict[str, Any]] = [
        {
            "payment_method_id": f"credit_card_{number}",
            "source": "credit_card",
            "brand": rng.choice(_BRANDS),
            "last_four": f"{rng.randrange(10_000):04}",
        }
        for number in (card, second)[:cards]
    ]
    if accounts:
        methods.append({"payment_method_id": f"paypal_{account}", "source": "paypal"})
    if rng.random() < 0.6:
        balance = rng.randint(0, MAX_GIFT_CARD_BALANCE * 4) / 4  # a multiple of 0.25, exact as a float
        methods.append({"payment_method_id": f"gift_card_{gift}", "source": "gift_card", "balance": balance})
    rng.shuffle(methods)
    return methods
