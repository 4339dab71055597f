"""Who comes in, and what they find there."""

import re

from playwright.sync_api import Browser, expect

from tests.browser import world
from tests.browser.people import Person, address, person
from tests.served.learning import Festinger


def test_the_admin_opens_for_who_knows_the_password(whole: Festinger, browser: Browser) -> None:
    with person(browser, whole.proxies[0].url) as someone:
        someone.opens("index")
        expect(someone.page).to_have_url(re.compile("/admin/login/"))
        someone.page.get_by_label("Username").fill("olga")
        someone.page.get_by_label("Password").fill("a guess")
        someone.page.get_by_role("button", name="Log in").click()
        expect(someone.page.get_by_text("Please enter the correct username and password")).to_be_visible()

        someone.logs_in("olga")

        expect(someone.page).to_have_url(re.compile(f"{address('index')}$"))
        assert someone.complaints == []


def test_each_page_of_the_menu_opens_without_a_complaint_of_the_browser(whole: Festinger, olga: Person) -> None:
    """Also those of a first row, and of a new one. It complains where the policy keeps a script from running."""
    world.dispute(whole, "isa_isa", "jubjub")
    olga.opens("index")
    menu = {str(link.get_attribute("href")) for link in olga.page.locator("#nav-sidebar a[href]").all()}
    assert len(menu) > 15

    waiting, opened = sorted(menu), 0
    while waiting:
        path = waiting.pop()
        answer = olga.page.goto(path)

        assert answer is not None
        assert (path, answer.status) == (path, 200)
        assert "script-src 'self' 'unsafe-eval'" in answer.headers["content-security-policy"]
        opened += 1
        if path in menu:
            links = olga.page.locator("#result_list tbody tr:first-child th a[href], a[href$='/add/']").all()
            waiting += {str(link.get_attribute("href")).partition("?")[0] for link in links}
    assert opened > len(menu) + 10


def test_the_menu_offers_operators_no_accounts(olga: Person) -> None:
    olga.opens("index")

    expect(olga.page.locator("#nav-sidebar")).to_contain_text("Conflicts")
    assert olga.page.locator("#nav-sidebar a[href^='/admin/auth/']").count() == 0
