// Follows the recollections: asks for those after the last, puts them in their place, and lets go of the oldest. Rows
// come again while other server processes may still tell of the same seconds, and when a loop was met in them later.
"use strict";

(() => {
    const EVERY_MS = 1500;
    const AFTER_A_FAILURE_MS = 5000;

    const box = document.getElementById("live-rows");
    const list = box.querySelector("ol");
    const status = document.getElementById("live-status");
    const pause = document.getElementById("live-pause");
    const rowsMax = Number(box.dataset.max);
    let mark = list.dataset.mark;
    let isPaused = false;
    let timer = 0;
    let isAsking = false;

    const say = (text) => {
        if (status.textContent !== text) { // what has not changed is not read aloud again
            status.textContent = text;
        }
    };

    // Newest first: before the first row that is older.
    const put = (row) => {
        const known = document.getElementById(row.id);
        if (known) {
            if (known.dataset.loops !== row.dataset.loops) {
                row.querySelector("details")?.toggleAttribute("open", Boolean(known.querySelector("details")?.open));
                known.replaceWith(row);
            }
            return;
        }
        const older = [...list.children].find((other) => other.dataset.order < row.dataset.order);
        if (!older && list.children.length >= rowsMax) {
            return;
        }
        row.classList.add("live-new");
        list.insertBefore(row, older ?? null);
    };

    const take = (html) => {
        const fragment = document.createElement("template");
        fragment.innerHTML = html;
        const fresh = fragment.content.querySelector("ol");
        mark = fresh.dataset.mark;
        [...fresh.children].forEach(put);
        while (list.children.length > rowsMax) {
            list.lastElementChild.remove();
        }
        document.getElementById("live-empty").hidden = list.children.length > 0;
        document.getElementById("live-text-on").hidden = fresh.dataset.text !== "on";
        if (fresh.dataset.text !== "on") {
            list.querySelectorAll(".live-text").forEach((text) => text.remove());
        }
    };

    const isFollowing = () => !isPaused && !document.hidden;

    const ask = async () => {
        const asked = new URLSearchParams(location.search);
        asked.set("since", mark);
        const answer = await fetch(`${box.dataset.url}?${asked}`, { redirect: "manual" });
        if (answer.type === "opaqueredirect") { // to the login: the session is over
            location.reload();
            return;
        }
        if (!answer.ok) {
            throw new Error(String(answer.status));
        }
        const html = await answer.text();
        if (isFollowing()) { // else it comes again, with what comes until then
            take(html);
        }
    };

    const follow = async () => {
        clearTimeout(timer);
        if (isAsking || !isFollowing()) {
            return;
        }
        isAsking = true;
        let wait = EVERY_MS, state = "Following";
        try {
            await ask();
        } catch {
            wait = AFTER_A_FAILURE_MS;
            state = "Festinger does not answer; trying again";
        }
        isAsking = false;
        if (isFollowing()) {
            say(state);
            timer = setTimeout(follow, wait);
        }
    };

    pause.hidden = false;
    pause.addEventListener("click", () => {
        isPaused = !isPaused;
        pause.setAttribute("aria-pressed", String(isPaused));
        say(isPaused ? "Paused" : "Following");
        follow();
    });
    document.addEventListener("visibilitychange", follow);
    say("Following");
    timer = setTimeout(follow, EVERY_MS);
})();
