// Pieces of a page that ask for their successors: what to do where none comes, and what a reader opened or closed stays so.
"use strict";

(() => {
    const disclosed = new Map(); // by id, whether it is open

    function lost(event, why) {
        const { elt, target } = event.detail; // what asked, and what the answer would replace
        const piece = target ?? elt;
        const again = (elt.getAttribute("hx-trigger") ?? "").includes("every") ? " It is tried again every few seconds." : "";
        const heading = piece.querySelector("[data-when-lost]");
        let note = piece.querySelector(":scope > .fst-lost");
        piece.classList.add("fst-is-lost");
        if (heading) heading.textContent = heading.dataset.whenLost;
        if (!note) {
            note = document.createElement("p");
            note.className = "fst-lost";
            note.setAttribute("role", "alert");
            piece.append(note);
        }
        note.textContent = why + again;
    }

    document.addEventListener("htmx:beforeSwap", (event) => {
        const { pathInfo, target } = event.detail;
        const asked = new URL(pathInfo.finalRequestPath, location.href).pathname;
        const answered = new URL(pathInfo.responsePath || asked, location.href).pathname;
        if (answered !== asked) { // led to the login: the session is over
            event.detail.shouldSwap = false;
            location.reload();
            return;
        }
        disclosed.clear();
        target.querySelectorAll("details[id]").forEach((one) => disclosed.set(one.id, one.open));
    });

    document.addEventListener("htmx:afterSwap", () => {
        disclosed.forEach((isOpen, id) => document.getElementById(id)?.toggleAttribute("open", isOpen));
    });

    document.addEventListener("htmx:sendError", (event) => {
        lost(event, "No answer came. Look whether Festinger still runs (make run, or docker compose ps).");
    });

    document.addEventListener("htmx:responseError", (event) => {
        const status = event.detail.xhr.status;
        lost(event, `It answers with an error (${status}); perhaps Postgres is away. Look at /health, and at its log.`);
    });
})();
