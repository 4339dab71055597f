// The page Export and import. Without this script its forms work too, but say nothing meanwhile.
"use strict";

(() => {
    const form = document.querySelector("[data-transfer]");
    if (!form) {
        return;
    }
    form.addEventListener("change", (event) => {
        event.stopPropagation(); // Unfold's script would look for a text field of its own beside the file field, and fail
        if (event.target.name === "differences") {
            form.requestSubmit(form.querySelector("[data-transfer-preview]"));
        }
    }, true);
    form.addEventListener("submit", (event) => {
        form.querySelector("[role=status]").textContent = event.submitter.dataset.transferStatus;
        // After this turn, or the form would be sent without its button's state.
        setTimeout(() => disable(true));
    });
    window.addEventListener("pageshow", () => disable(false)); // who comes back by the browser's button may send again

    function disable(isDisabled) {
        form.querySelectorAll("button").forEach((each) => { each.disabled = isDisabled; });
    }
})();
