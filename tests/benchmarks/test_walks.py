"""How a value is followed through code that does not run: a small tree, whose walks can be checked by eye."""

import ast

import pytest

from benchmarks.walks import Code, Walk

DESK = """
from shop import store
from shop.store import Ledger, retry

def take(order, clerk):
    greet(clerk)
    parcel = wrap(order)
    retry(lambda: send(parcel), check)
    weigh(order.weight)

def greet(clerk):
    pass

def wrap(order):
    return [order]

def check():
    pass

def weigh(grams):
    pass

def send(parcel):
    for thing in parcel:
        store.put_away(thing, check)
    ledger = Ledger(parcel)
    ledger.balance()
    send(parcel)
"""
STORE = """
def retry(work, check):
    pass

def put_away(item, check):
    box = {"it": item}
    check(box)

class Ledger:
    def __init__(self, entry):
        self.entry = entry

    def balance(self):
        return total(self.entry)

def total(entries):
    pass
"""


@pytest.fixture
def code():
    trees = {"desk": DESK, "shop": "from shop.store import retry", "shop.store": STORE}
    return Code({module: ast.parse(text) for module, text in trees.items()})


def test_a_value_is_followed_into_each_function_that_gets_it_once_and_in_order(code):
    walk = Walk(code, "take:order")

    assert [place.rpartition(":")[0] for place in walk.entered] == [
        "desk.take",
        "desk.wrap",
        "shop.store.retry",
        "desk.send",
        "shop.store.put_away",
        "desk.check",
        "shop.store.__init__",
        "shop.store.balance",
        "shop.store.total",
    ]


def test_modules_left_and_entered_again_are_returns(code):
    assert str(Walk(code, "take:order")).startswith("6 stays, 2 modules, 4 returns, ")


def test_each_name_the_value_has_on_its_way_counts_once(code):
    names = {"order", "parcel", "work", "thing", "item", "box", "ledger", "entry", "entries"}

    assert Walk(code, "take:order").names == names


def test_what_is_made_of_another_value_is_not_followed(code):
    assert [place.rpartition(":")[0] for place in Walk(code, "take:clerk").entered] == ["desk.take", "desk.greet"]


def test_a_function_is_found_by_way_of_the_package_that_hands_it_on(code):
    assert Walk(code, "shop:retry:work").modules == ["shop.store"]


@pytest.mark.parametrize("start", ["take:nobody", "leave:order", "shop.desk:take:order", "take"])
def test_a_start_that_is_not_in_the_code_is_refused(code, start):
    with pytest.raises(LookupError, match="none of the code's"):
        Walk(code, start)
