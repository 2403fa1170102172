"""Sample data for generated values: people, places, names of things, and texts."""

from datetime import date

TODAY = date(2025, 5, 15)  # fixed, so that a conversation always has the same data

FIRST_NAMES = (
    *("Amelia", "Marcus", "Priya", "Tomas", "Hannah", "Diego", "Naomi", "Victor", "Leila", "Owen", "Sofia", "Julian", "Mei", "Rashid"),
    *("Clara", "Andre", "Fiona", "Samuel", "Yuki", "Elena", "Malik", "Grace", "Lucas", "Ingrid", "Daniel", "Aisha", "Felix", "Rosa"),
)
LAST_NAMES = (
    *("Bennett", "Okafor", "Sharma", "Novak", "Fischer", "Ramirez", "Cohen", "Laurent", "Haddad", "Murphy", "Rossi", "Walker", "Chen"),
    *(
        "Khan",
        "Weber",
        "Silva",
        "Campbell",
        "Brooks",
        "Tanaka",
        "Petrov",
        "Jackson",
        "Lindgren",
        "Moreau",
        "Olsen",
        "Price",
        "Ali",
        "Ortiz",
    ),
)
PLACES = (  # city, state, zip code, area code
    *(("Denver", "CO", "80203", "303"), ("Portland", "OR", "97205", "503"), ("Austin", "TX", "78701", "512")),
    *(("Columbus", "OH", "43215", "614"), ("Nashville", "TN", "37203", "615"), ("Seattle", "WA", "98101", "206")),
    *(("Boston", "MA", "02116", "617"), ("Phoenix", "AZ", "85004", "602"), ("Charlotte", "NC", "28202", "704")),
    *(("Madison", "WI", "53703", "608"), ("San Diego", "CA", "92101", "619"), ("Tampa", "FL", "33602", "813")),
    *(("Boise", "ID", "83702", "208"), ("Omaha", "NE", "68102", "402"), ("Richmond", "VA", "23219", "804")),
)
STREETS = ("Maple Street", "Oak Avenue", "Cedar Lane", "Park Road", "Hillside Drive", "River Street", "Elm Street", "Sunset Boulevard")
PROPER_NAMES = ("Alder", "Birch", "Harbor", "Summit", "Juniper", "Meadow", "Granite", "Willow", "Copper", "Lakeside", "Orchard", "Beacon")

NAMES_BY_KIND: dict[str, tuple[str, ...]] = {
    "product": (
        *("Desk Lamp", "Hiking Boots", "Wool Blanket", "Rain Jacket", "Water Bottle", "Backpack", "Running Shoes", "Bluetooth Speaker"),
        *("Office Chair", "Coffee Grinder", "Yoga Mat", "Travel Mug", "Wall Clock", "Picnic Basket", "Headphones", "Garden Hose"),
    ),
    "book": (
        *("The Quiet Harbor", "A Field of Stars", "Letters from Lisbon", "The Glass Orchard", "Winter Crossing", "The Ninth Bridge"),
        *("Salt and Cedar", "The Cartographer's Son", "Notes on Rain", "An Ordinary Tide", "The Long Way North", "City of Lanterns"),
    ),
    "medicine": ("Amoxicillin", "Ibuprofen", "Metformin", "Lisinopril", "Cetirizine", "Omeprazole"),
    "restaurant": ("Blue Fig", "Casa Verde", "The Copper Pot", "Little Saigon", "Nonna's Table", "Harbor Grill", "Saffron House"),
    "hotel": ("Harbor View Hotel", "The Juniper Inn", "Hotel Meridian", "Lakeside Lodge", "The Granville", "Park House"),
    "course": ("Introduction to Statistics", "Watercolor for Beginners", "Spanish Conversation", "Web Design Basics", "Data Analysis"),
    "event": ("Spring Concert", "Neighborhood Fair", "Poetry Evening", "Science Night", "Photography Workshop", "Jazz in the Park"),
    "film": ("The Last Ferry", "Northern Lights", "Paper Moons", "A Summer in June", "The Clockmaker", "Silent Valley"),
    "task": (
        "Prepare the quarterly report",
        "Review the draft contract",
        "Order new monitors",
        "Update the contact list",
        "Plan the offsite",
    ),
    "pet": ("Biscuit", "Luna", "Pepper", "Maple", "Oscar", "Ziggy", "Clover", "Moose"),
    "plan": ("Basic", "Standard", "Plus", "Premium", "Family"),
    "service": ("Haircut", "Deep Cleaning", "Tire Change", "Eye Exam", "Dental Cleaning", "Massage"),
}
SIMILAR_KINDS = {
    "item": "product", "article": "product", "title": "book", "novel": "book", "drug": "medicine", "medication": "medicine",
    "class": "course", "lesson": "course", "concert": "event", "show": "event", "movie": "film", "ticket": "task", "issue": "task",
    "todo": "task", "animal": "pet", "dog": "pet", "treatment": "service", "variant": "product", "subscription": "plan",
}  # fmt: skip
VALUES_BY_WORD: dict[str, tuple[str, ...]] = {  # by the last word of a field's name
    "color": ("black", "navy", "red", "olive", "white", "grey"),
    "colour": ("black", "navy", "red", "olive", "white", "grey"),
    "size": ("small", "medium", "large"),
    "material": ("cotton", "wool", "leather", "steel", "oak"),
    "brand": ("Northfield", "Alder & Co", "Summit", "Brightwell"),
    "author": ("Elena Marsh", "Theo Lindqvist", "Amara Obi", "Jonas Hale", "Ruth Calloway", "Ines Duarte"),
    "genre": ("mystery", "history", "science fiction", "poetry", "travel"),
    "category": ("home", "outdoor", "office", "kitchen", "garden"),
    "department": ("Sales", "Support", "Finance", "Operations"),
    "specialty": ("dermatology", "cardiology", "pediatrics", "orthopedics"),
    "speciality": ("dermatology", "cardiology", "pediatrics", "orthopedics"),
    "language": ("English", "Spanish", "French", "German"),
    "cuisine": ("Italian", "Thai", "Mexican", "Indian", "Greek"),
    "breed": ("Labrador", "Beagle", "Siamese", "Tabby"),
    "species": ("dog", "cat", "rabbit"),
    "currency": ("USD",),
    "country": ("USA",),
    "company": ("Northfield Logistics", "Brightwell Labs", "Harbor Foods", "Alder Consulting"),
    "role": ("member", "editor", "administrator"),
    "carrier": ("UPS", "FedEx", "DHL"),
    "room": ("101", "204", "215", "312"),
    "branch": ("Central", "Eastside", "Harbor"),
    "priority": ("low", "normal", "high"),
    "status": ("active", "open", "done"),
    "unit": ("piece", "box", "pair"),
    "reason": ("my plans have changed", "it no longer suits me", "I need it for another date", "I picked the wrong one"),
    "description": ("a short note for the record", "as discussed on the phone", "please handle it with care"),
    "note": ("thank you for your patience", "no hurry with this", "please keep me posted", "call me if anything is unclear"),
    "notes": ("no hurry with this", "please keep me posted", "call me if anything is unclear", "I have been here before"),
    "comment": ("please call before you come", "thanks for the quick help", "it was just what I wanted"),
    "dose": ("500 mg", "10 mg", "250 mg", "5 ml"),
    "allergy": ("peanuts", "penicillin", "pollen", "latex"),
    "make": ("Ford", "Volvo", "Toyota", "Renault"),
    "symptoms": ("a sore throat and a cough", "a stiff neck", "a rash on one arm", "headaches in the evening"),
    "summary": ("The customer would like to speak with a person",),
    "message": ("Done.",),
    "subject": ("A question about my account", "A problem with the last bill", "A request for a change"),
    "query": ("lamp", "garden", "history", "weekend"),
    "keyword": ("lamp", "garden", "history", "weekend"),
    "tag": ("new", "popular", "seasonal"),
    "text": ("please call before you come", "thanks for the quick help", "it was just what I wanted"),
    "instructions": ("leave it with the neighbor", "ring twice", "use the side entrance"),
}
TIME_ZONES = (
    *("America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo", "Europe/London", "Europe/Paris"),
    *("Europe/Berlin", "Europe/Warsaw", "Africa/Cairo", "Africa/Lagos", "Asia/Tokyo", "Asia/Kolkata", "Asia/Singapore", "Australia/Sydney"),
)
