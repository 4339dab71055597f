// The page of export and import. A file is sent in parts, so that no request is large; without this script a form
// sends it as a whole, which the limit for request bodies allows for smaller ones.
"use strict";

(() => {
    const PROGRESS_MS = 1000;
    const PART_BYTES = 4 * 1024 * 1024;

    const form = document.querySelector("[data-transfer-upload]");
    if (form) {
        // Unfold's script would look for a text field of its own beside each file field, and fail.
        form.addEventListener("change", (event) => event.stopPropagation(), true);
        form.addEventListener("submit", async (event) => {
            event.preventDefault();
            const file = form.elements.file.files[0];
            const button = form.querySelector("button");
            const mibMax = Number(form.dataset.mibMax);
            if (file.size > mibMax * 1024 * 1024) {
                say(form, `This file is too large: at most ${mibMax} MiB. Larger ones take manage.py import_graph.`);
                return;
            }
            button.disabled = true;
            try {
                await send(form, file);
                say(form, "Looking at the file. This takes a moment.");
                window.location.reload();
            } catch (error) {
                say(form, error.message);
                button.disabled = false;
            }
        });
    }

    const confirmation = document.querySelector("[data-transfer-import]");
    if (confirmation) {
        // What the file would come to, the way that is chosen.
        confirmation.addEventListener("change", (event) => {
            if (event.target.name === "differences") {
                say(confirmation.closest("section"), "Looking at the file. This takes a moment.");
                const skips = confirmation.elements.skip_invalid?.checked ? "&skip_invalid=true" : "";
                window.location.search = `differences=${event.target.value}${skips}`;
            }
        });
        confirmation.addEventListener("submit", () => {
            // After this turn, or the form would be sent without its button's state.
            setTimeout(() => document.querySelectorAll(".transfer-buttons button").forEach((each) => { each.disabled = true; }));
            say(confirmation.closest("section"), "Importing. A large file takes some minutes; it is imported also if you leave this page.");
            setInterval(() => tellProgress(confirmation), PROGRESS_MS);
        });
    }

    const again = document.querySelector("[data-transfer-again]");
    if (again) {
        again.addEventListener("click", () => say(document, "Looking at the file. This takes a moment."));
    }

    // Somebody is at the file, perhaps this person, who left the page and came back.
    const waiting = document.querySelector("[data-transfer-waiting]");
    if (waiting) {
        setInterval(async () => {
            const state = await askProgress(waiting.dataset.progress);
            if (state && state.doing !== waiting.dataset.transferWaiting) {
                window.location.reload();
            } else if (state) {
                say(waiting, state.progress);
            }
        }, PROGRESS_MS);
    }

    async function send(form, file) {
        const progress = form.querySelector("progress");
        progress.hidden = false;
        let key = "";
        let at = 0;
        do {
            const end = Math.min(at + PART_BYTES, file.size);
            const part = new FormData();
            part.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
            part.set("file", file.slice(at, end), "part");
            part.set("name", file.name);
            part.set("key", key);
            part.set("at", String(at));
            part.set("more", String(end < file.size));
            key = await sendPart(form.action, part);
            at = end;
            progress.value = at / Math.max(file.size, 1);
        } while (at < file.size);
    }

    async function sendPart(address, sent) {
        let answer;
        try {
            answer = await fetch(address, { method: "POST", body: sent });
        } catch {
            throw new Error("The file could not be sent: Festinger does not answer.");
        }
        const part = await answer.json().catch(() => ({}));
        if (!answer.ok || !part.key) {
            throw new Error(part.error || `The file could not be sent (${answer.status}).`);
        }
        return part.key;
    }

    async function tellProgress(confirmation) {
        const state = await askProgress(confirmation.dataset.transferImport);
        if (state && state.progress) {
            say(confirmation.closest("section"), `Importing. ${state.progress}`);
        }
    }

    // What is being done with the file; nothing where there is no answer.
    async function askProgress(address) {
        return fetch(address).then((answer) => answer.json()).catch(() => null);
    }

    function say(within, text) {
        within.querySelector("[data-transfer-status]").textContent = text;
    }
})();
