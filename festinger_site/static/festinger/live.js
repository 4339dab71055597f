// Follows the recollections: asks for all rows anew, and puts in those that are new or have changed. The others stay as
// they are: opened, selected, in focus.
"use strict";

(() => {
    const EVERY_MS = 2000;
    const AFTER_A_FAILURE_MS = 5000;

    const box = document.getElementById("live-rows");
    const list = box.querySelector("ol");
    const status = document.getElementById("live-status");
    const pause = document.getElementById("live-pause");
    let isPaused = false;
    let timer = 0;
    let isAsking = false;

    const say = (text) => {
        if (status.textContent !== text) { // what has not changed is not read aloud again
            status.textContent = text;
        }
    };

    const renew = (row) => {
        const known = document.getElementById(row.id);
        if (known?.dataset.state === row.dataset.state) {
            return known;
        }
        row.classList.toggle("live-new", !known);
        row.querySelector("details")?.toggleAttribute("open", Boolean(known?.querySelector("details")?.open));
        return row;
    };

    const take = (html) => {
        const fragment = document.createElement("template");
        fragment.innerHTML = html;
        const fresh = fragment.content.querySelector("ol");
        const rows = [...fresh.children].map(renew);
        [...list.children].filter((row) => !rows.includes(row)).forEach((row) => row.remove());
        rows.forEach((row, at) => {
            if (list.children[at] !== row) {
                list.insertBefore(row, list.children[at] ?? null);
            }
        });
        document.getElementById("live-empty").hidden = rows.length > 0;
        document.getElementById("live-text-on").hidden = fresh.dataset.text !== "on";
    };

    const isFollowing = () => !isPaused && !document.hidden;

    const ask = async () => {
        const answer = await fetch(`${box.dataset.url}${location.search}`, { redirect: "manual" });
        if (answer.type === "opaqueredirect") { // to the login: the session is over
            location.reload();
            return;
        }
        if (!answer.ok) {
            throw new Error(String(answer.status));
        }
        const html = await answer.text();
        if (isFollowing()) {
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
