// The desk's keys. All they do can be done without them: each moves the focus, or presses what is on the page.
(() => {
    "use strict";

    const SWITCH = "festinger.desk.keys";
    const find = (selector) => document.querySelector(selector);
    const all = (selector) => [...document.querySelectorAll(selector)];

    // Storage may be forbidden: then the keys are on.
    const remembered = () => { try { return localStorage.getItem(SWITCH); } catch { return null; } };
    const remember = (value) => { try { localStorage.setItem(SWITCH, value); } catch { /* for this page only */ } };

    const isTyping = (element) =>
        element.matches("textarea, select, [contenteditable]") ||
        (element.matches("input") && !["checkbox", "radio", "submit", "button"].includes(element.type));

    function moveBy(step) {
        const rows = all(".desk-row");
        const at = rows.findIndex((row) => row.contains(document.activeElement));
        const next = rows[at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)];
        next?.querySelector(".desk-open").focus();
        next?.scrollIntoView({ block: "nearest" });
        return Boolean(next);
    }

    function select() {
        const box = document.activeElement.closest(".desk-row")?.querySelector(".desk-select");
        box?.click();
        return Boolean(box);
    }

    // In the list: a decision that takes no names is confirmed there, the others on the conflict's page. A row says with
    // which keys it opens.
    function chooseIn(row, key) {
        const button = row.querySelector(`[data-key="${key}"]`);
        if (!button && (!row.querySelector("[data-key]") || !(row.dataset.opens ?? "34").includes(key))) return false;
        if (button) button.focus();
        else window.location.assign(`${row.querySelector(".desk-open").href}#choose-${key}`);
        return true;
    }

    function choose(key) {
        const row = document.activeElement.closest(".desk-row");
        if (row) return chooseIn(row, key);
        const button = find(`#desk-decide [data-key="${key}"]`);
        const field = button?.closest(".desk-choice")?.querySelector("input");
        field?.select();
        (field ?? button)?.focus();
        button?.scrollIntoView({ block: "nearest" });
        return Boolean(button);
    }

    function press(selector) {
        const target = find(selector);
        target?.click();
        return Boolean(target);
    }

    function focusOn(selector) {
        find(selector)?.focus();
        return Boolean(find(selector));
    }

    function help() {
        find("#desk-help").showModal();
        return true;
    }

    const KEYS = {
        j: () => moveBy(1), ArrowDown: () => moveBy(1), k: () => moveBy(-1), ArrowUp: () => moveBy(-1),
        x: select, "/": () => focusOn("#searchbar"), "?": help,
        ...Object.fromEntries([..."123456789adp"].map((key) => [key, () => choose(key)])),
        n: () => press("#desk-next"), u: () => press("button.desk-undo"),
    };

    // Enter in a decision's field decides that, not the form's first button.
    function decideFrom(event) {
        const choice = event.target.closest(".desk-choice");
        if (event.key !== "Enter" || !choice || !event.target.matches("input")) return;
        event.preventDefault();
        event.target.form.requestSubmit(choice.querySelector("button"));
    }

    function act(event) {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
        if (isTyping(event.target)) {
            if (event.key === "Escape") event.target.blur();
            return;
        }
        if (remembered() === "off" && event.key !== "?") return;
        if (Object.hasOwn(KEYS, event.key) && KEYS[event.key]()) event.preventDefault();
    }

    function count() {
        const boxes = all(".desk-select");
        const chosen = boxes.filter((box) => box.checked).length;
        find("#desk-count").textContent = chosen ? `${chosen} selected` : "";
        find("#desk-all").checked = chosen > 0 && chosen === boxes.length;
        for (const button of all("#desk-bulk button")) button.disabled = chosen === 0;
    }

    // Pressed twice, it is sent once.
    function sendOnce(event) {
        if (event.defaultPrevented) return; // the question was denied
        if (event.target.dataset.isSent) event.preventDefault();
        event.target.dataset.isSent = "yes";
    }

    function begin() {
        document.addEventListener("keydown", decideFrom);
        document.addEventListener("keydown", act);
        for (const form of all("form[method=post]")) form.addEventListener("submit", sendOnce);
        for (const button of all("[data-desk-help]")) button.addEventListener("click", help);
        const keys = find("#desk-keys");
        keys.checked = remembered() !== "off";
        keys.addEventListener("change", () => remember(keys.checked ? "on" : "off"));
        const wanted = /^#choose-([1-9a])$/.exec(window.location.hash);
        if (wanted) choose(wanted[1]);
        if (!find("#desk-bulk")) return;
        find("#desk-all").addEventListener("change", (event) => {
            for (const box of all(".desk-select")) box.checked = event.target.checked;
            count();
        });
        for (const box of all(".desk-select")) box.addEventListener("change", count);
        count();
    }

    // Also when a page comes back from the browser's own memory.
    window.addEventListener("pageshow", () => {
        for (const form of all("form[data-is-sent]")) delete form.dataset.isSent;
    });
    begin();
})();
