"""Seed data of the help desk: departments, priorities, people, and typical issues of each department."""

from typing import NamedTuple


class Department(NamedTuple):
    code: str
    name: str
    handles: str


class Priority(NamedTuple):
    name: str
    means: str


class WorkflowType(NamedTuple):
    name: str
    means: str


TODAY = "2025-05-01"  # fixed, so that the same conversation always produces the same data

DEPARTMENTS = (
    Department("IT", "Information Technology", "computers, accounts, networks and servers"),
    Department("HR", "Human Resources", "hiring, leave, payroll questions and training"),
    Department("FIN", "Finance", "invoices, expenses and reports"),
    Department("FAC", "Facilities", "buildings, rooms, furniture and keys"),
    Department("OPS", "Operations", "warehouse, shipping and production"),
    Department("LEGAL", "Legal", "contracts, privacy and compliance"),
    Department("MKT", "Marketing", "website, campaigns and events"),
    Department("CS", "Customer Service", "complaints, returns and the hotline"),
)
PRIORITIES = (
    Priority("Low", "whenever there is time"),
    Priority("Medium", "within the week"),
    Priority("High", "within two working days"),
    Priority("Critical", "today: work has stopped"),
)
WORKFLOW_TYPES = (
    WorkflowType("Standard", "in the order of arrival"),
    WorkflowType("Expedited", "ahead of the queue"),
    WorkflowType("Scheduled", "on an agreed date"),
    WorkflowType("Compliance", "with a review by Legal before it is closed"),
)
TICKET_STATUSES = ("Open", "In Progress", "On Hold", "Resolved", "Closed")
ITEM_STATUSES = ("Open", "In Progress", "Done")

FIRST_NAMES = ("Amara", "Ben", "Chiara", "David", "Elif", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kavya", "Liam", "Mei", "Nadia")
LAST_NAMES = ("Abara", "Bauer", "Costa", "Dubois", "Eriksen", "Fontana", "Greene", "Haddad", "Ito", "Jansen", "Kumar", "Lindqvist")
PLACES = ("in the Berlin office", "on the second floor", "in building C", "at the Porto site", "in the main hall", "at the north gate")

# title, description, expected outcome; {place} is one of PLACES
ISSUES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "IT": (
        (
            "Laptop does not start",
            "The laptop of a colleague {place} stays black since an update",
            "The laptop starts again",
        ),
        ("VPN drops every hour", "Remote connections are cut about once an hour {place}", "The connection holds for a whole working day"),
        ("Mailbox over quota", "A shared mailbox no longer receives messages", "The mailbox has room for another year"),
        ("Wireless network is slow", "Pages take half a minute to load {place}", "The wireless network is as fast as the cable"),
        ("Backup job fails at night", "The nightly backup of the file server ends with an error", "Backups finish every night"),
        ("Printer prints blank pages", "The colour printer {place} prints nothing but blank pages", "The printer prints again"),
    ),
    "HR": (
        (
            "Leave balance is wrong",
            "Five days of leave are missing since January",
            "The balance shows the right number of days",
        ),
        ("Onboarding pack for new colleague", "A new colleague starts next month {place}", "Contract, badge and training plan are ready"),
        ("Training course is full", "The first aid course has no places left", "A second course is offered"),
        ("Payslip shows old address", "Payslips still go to the former address", "The address is corrected on all payslips"),
        ("Reference letter requested", "A former colleague asks for a reference letter", "The letter is signed and sent"),
    ),
    "FIN": (
        ("Invoice paid twice", "A supplier reports that an invoice was paid twice", "The second payment is returned"),
        ("Expense claim not refunded", "Travel expenses of March were not refunded", "The expenses are paid out"),
        ("Cost centre missing in report", "The monthly report leaves out one cost centre", "The report shows every cost centre"),
        ("Supplier account locked", "Payments to a supplier are refused", "Payments go through again"),
        ("Currency rate out of date", "The system still uses last year's exchange rate", "The rate is updated every day"),
    ),
    "FAC": (
        ("Heating does not work", "The radiators stay cold {place}", "Rooms are warm again"),
        ("Broken chair", "An office chair {place} has lost a wheel", "The chair is repaired or replaced"),
        ("Door does not lock", "The side door {place} can be opened without a badge", "The door locks again"),
        ("Light flickers in meeting room", "The ceiling light flickers {place}", "The light is steady"),
        ("Window cannot be closed", "A window {place} stays open when it rains", "The window closes again"),
        ("Coffee machine leaks", "Water runs out of the coffee machine {place}", "The machine is dry and works"),
    ),
    "OPS": (
        ("Forklift needs inspection", "The yearly inspection of a forklift is due", "The forklift has a new certificate"),
        ("Label printer jams", "Shipping labels jam in the printer {place}", "Labels print without a jam"),
        ("Pallets blocked at dock", "Pallets block the loading dock {place}", "The dock is free"),
        ("Scanner battery empty too soon", "Hand scanners last for two hours only", "Scanners last for a shift"),
        ("Conveyor belt stops", "The belt stops several times a day {place}", "The belt runs without stops"),
    ),
    "LEGAL": (
        ("Contract needs a second review", "A supplier changed three clauses of the contract", "The clauses are accepted or refused"),
        ("Privacy notice is outdated", "The notice on the website names a former address", "The notice is up to date"),
        ("Data request from a customer", "A customer asks which data is kept about them", "The customer gets a full answer"),
        ("Trademark entry expires", "The entry of the company's name expires this summer", "The entry is renewed"),
        ("Licence terms unclear", "It is unclear whether a licence covers contractors", "There is a written answer"),
    ),
    "MKT": (
        ("Banner shows old prices", "The banner on the start page shows last year's prices", "The banner shows the current prices"),
        ("Newsletter sent to wrong list", "The newsletter went to former customers", "The list is corrected"),
        ("Booth for spring fair", "The booth for the spring fair is not booked yet", "The booth is booked"),
        ("Photos for product page", "Two new products have no photos yet", "Both products are shown with photos"),
        ("Broken link on start page", "The link to the catalogue leads nowhere", "The link leads to the catalogue"),
    ),
    "CS": (
        ("Hotline music too loud", "Callers complain about the music while they wait", "The music is quieter"),
        ("Return label missing", "Customers do not find the return label", "Every parcel has a return label"),
        ("Complaint about late delivery", "A customer waited three weeks for a delivery", "The customer has an answer and a voucher"),
        ("Call recordings are missing", "The recordings of last week cannot be played", "The recordings can be played"),
        ("Chat window does not open", "The chat on the website stays empty", "The chat opens again"),
    ),
}

# title, description
STEPS = (
    ("Call the person who reported it", "Find out since when it happens and how often"),
    ("Look at it on site", "Go there and take pictures"),
    ("Order the missing part", "Ask two suppliers for a price and order"),
    ("Ask the supplier", "Send the description to the supplier and ask for a date"),
    ("Write down what was done", "Put the steps into the knowledge base"),
    ("Check the result", "Ask the person who reported it whether it works now"),
    ("Plan a date for the repair", "Agree on a date with everybody who is affected"),
)
