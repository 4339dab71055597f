// The settings: those that are searched for, and the one that an address names, are unfolded.
(() => {
    "use strict";

    const groups = [...document.querySelectorAll(".fst-settings-group")];
    const search = document.querySelector("#fst-settings-search");
    const unfolded = new Set(groups.filter((group) => group.open));

    function look() {
        const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        let found = 0;
        for (const group of groups) {
            let inGroup = 0;
            for (const setting of group.querySelectorAll(".fst-setting")) {
                const text = setting.querySelector(".fst-setting-text").textContent.toLowerCase();
                setting.hidden = !words.every((word) => text.includes(word));
                inGroup += setting.hidden ? 0 : 1;
            }
            group.hidden = inGroup === 0;
            group.open = words.length ? inGroup > 0 : unfolded.has(group);
            found += inGroup;
        }
        document.querySelector("#fst-settings-none").hidden = found > 0;
    }

    function unfoldNamed() {
        const named = document.getElementById(window.location.hash.slice(1));
        const group = named?.closest(".fst-settings-group");
        if (group && !group.open) {
            group.open = true;
            named.scrollIntoView();
        }
    }

    search.addEventListener("input", look);
    // Enter searches, and stores nothing.
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    // A field that the browser refuses must be seen to be told so.
    document.querySelector("#settings").addEventListener("invalid", (event) => {
        event.target.closest(".fst-settings-group").open = true;
    }, true);
    window.addEventListener("hashchange", unfoldNamed);
    unfoldNamed();
    if (search.value) look(); // the page came back from the browser's own memory
})();
