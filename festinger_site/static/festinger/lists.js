// Asks before an action on several rows, except where a page of its own asks; Enter in the search of everything. All
// works without it.
(() => {
    "use strict";

    function ask(event) {
        const form = event.target;
        const isDesk = form.id === "desk-bulk";
        if (!isDesk && (form.id !== "changelist-form" || event.submitter?.name !== "index")) return;
        const chosen = form.elements.namedItem("action");
        const label = isDesk ? event.submitter?.textContent : chosen?.selectedOptions?.[0]?.textContent;
        const boxes = [...document.querySelectorAll("input[name=_selected_action]")].filter((box) => box.checked);
        const isAll = form.elements.namedItem("select_across")?.value === "1";
        if (!label?.trim() || label.trim().endsWith("…") || !boxes.length) return;
        const rows = isAll ? "all rows of the list" : boxes.length === 1 ? "1 row" : `${boxes.length} rows`;
        if (!window.confirm(`${label.trim()}: ${rows}?`)) event.preventDefault();
    }

    document.addEventListener("submit", ask, true);
})();

// Enter in the search of everything opens the first result, if none is chosen; without any it waits for them.
document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.id !== "search-input-command") return;
    if (document.querySelector("#command-results li.active")) return;
    if (!document.querySelector("#command-results li")) {
        event.preventDefault();
        event.stopImmediatePropagation();
        return;
    }
    event.target.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
}, true);
