// The page Export and import. Without this script its forms work too, but say nothing meanwhile.
"use strict";

(() => {
    const PROGRESS_MS = 1000;
    const PREVIEWING = "Previewing the file. This takes a moment.";

    const upload = document.querySelector("[data-transfer-upload]");
    if (upload) {
        // Unfold's script would look for a text field of its own beside each file field, and fail.
        upload.addEventListener("change", (event) => event.stopPropagation(), true);
        upload.addEventListener("submit", async (event) => {
            event.preventDefault();
            const button = upload.querySelector("button");
            button.disabled = true;
            say(upload, "Sending the file.");
            // A redirect is followed by loading the page anew, so that its messages are not lost here.
            const answer = await fetch(upload.action, { method: "POST", body: new FormData(upload), redirect: "manual" }).catch(() => null);
            if (answer && answer.type === "opaqueredirect") {
                say(upload, PREVIEWING);
                window.location.reload();
                return;
            }
            const isTooLarge = !answer || answer.status === 413;
            say(upload, isTooLarge
                ? "The file could not be sent. It may be larger than limits.max_body_bytes allows: manage.py import_graph takes files of any size."
                : `The file could not be sent (${answer.status}).`);
            button.disabled = false;
        });
    }

    const confirmation = document.querySelector("[data-transfer-import]");
    if (confirmation) {
        confirmation.addEventListener("change", (event) => {
            if (event.target.name === "differences") {
                say(document, PREVIEWING);
                const skips = confirmation.elements.skip_invalid?.checked ? "&skip_invalid=true" : "";
                window.location.search = `differences=${event.target.value}${skips}`;
            }
        });
        confirmation.addEventListener("submit", () => {
            // After this turn, or the form would be sent without its button's state.
            setTimeout(() => document.querySelectorAll(".transfer-buttons button").forEach((each) => { each.disabled = true; }));
            say(document, "Importing. A large file takes some minutes; the import continues if you leave this page.");
            setInterval(async () => {
                const state = await askProgress(confirmation.dataset.transferImport);
                if (state?.progress) {
                    say(document, `Importing. ${state.progress}`);
                }
            }, PROGRESS_MS);
        });
    }

    document.querySelector("[data-transfer-again]")?.addEventListener("click", () => say(document, PREVIEWING));

    // The account's file is being imported, perhaps by this person, who left the page and came back.
    const waiting = document.querySelector("[data-transfer-waiting]");
    if (waiting) {
        setInterval(async () => {
            const state = await askProgress(waiting.dataset.transferWaiting);
            if (state && state.progress === null) {
                window.location.reload();
            } else if (state) {
                say(waiting, state.progress);
            }
        }, PROGRESS_MS);
    }

    // Null if there is no answer.
    async function askProgress(address) {
        return fetch(address).then((answer) => answer.json()).catch(() => null);
    }

    function say(within, text) {
        within.querySelector("[data-transfer-status]").textContent = text;
    }
})();
