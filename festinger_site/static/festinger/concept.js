// The picture of a concept's neighbourhood, its legend, and the same as a list.
"use strict";

(() => {
    const LAST_COLOUR = 7; // for all further dimensions
    const NAME_MAX = 24; // characters of a concept's name in the picture; the list has all
    const ZOOM_STEP = 1.3;
    const FONT = 13; // pixels
    const CENTRE_FONT = 16;
    const NARROW_BELOW = 560; // pixels

    const root = document.getElementById("fst-neighbourhood");
    if (!root) {
        return;
    }
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    let picture = null;
    let shown = null;
    let depth = "1";

    // --- words ---

    const short = (name) => (name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name);
    const mark = (edge) => (edge.conflict ? " ?" : "");

    function summary(data) {
        const others = data.nodes.length - 1;
        if (!others) {
            return "Nothing is connected with it.";
        }
        const count = `${others} ${others === 1 ? "concept" : "concepts"} around it`;
        if (!data.left_out && !data.is_least) {
            return `${count}.`;
        }
        const least = data.is_least ? "at least " : "";
        return `${count}: the most relevant ones. Left out: ${least}${data.left_out.toLocaleString("en")}.`;
    }

    // --- colours: those of the page, which change with its theme ---

    const brush = document.createElement("canvas").getContext("2d", {willReadFrequently: true});

    function colour(name) {
        // By way of a pixel: the page writes colours in ways that the library does not read, such as oklch().
        brush.clearRect(0, 0, 1, 1);
        brush.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--fst-${name}`).trim();
        brush.fillRect(0, 0, 1, 1);
        const [red, green, blue] = brush.getImageData(0, 0, 1, 1).data;
        return `rgb(${red}, ${green}, ${blue})`;
    }

    function width(node) {
        brush.font = node.distance ? `${FONT}px sans-serif` : `bold ${CENTRE_FONT}px sans-serif`;
        return Math.ceil(brush.measureText(short(node.token)).width);
    }

    function dimensions(data) {
        const counts = new Map();
        for (const edge of data.edges) {
            counts.set(edge.dimension, (counts.get(edge.dimension) || 0) + 1);
        }
        const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
        return new Map(names.map((name, index) => [name, Math.min(index, LAST_COLOUR)]));
    }

    // --- places: rings around the concept; what stands side by side on a ring is apart by its angle, and what would
    // come too close to its neighbour goes to the next ring, so that no line runs through another concept ---

    // Pixels: from what is within to the first ring, from ring to ring, for one concept beside the next of its ring.
    const WIDE = {first: {width: 280, height: 130}, next: {width: 130, height: 65}, room: {width: 110, height: 50}};
    const NARROW = {first: {width: 140, height: 170}, next: {width: 90, height: 100}, room: {width: 75, height: 75}};

    function ring(nodes, inner, places, spaces) {
        const rings = Math.max(1, Math.round(Math.sqrt(nodes.length / 9)));
        const step = (2 * Math.PI) / nodes.length;
        const size = {};
        for (const side of ["width", "height"]) {
            const first = inner[side] ? inner[side] + spaces.next[side] : spaces.first[side];
            size[side] = (further) => Math.max(first, spaces.room[side] / (rings * step)) + spaces.next[side] * further;
        }
        nodes.forEach((node, index) => {
            const angle = step * index - Math.PI / 2;
            const further = index % rings;
            places.set(node.id, {x: Math.cos(angle) * size.width(further), y: Math.sin(angle) * size.height(further)});
        });
        return {width: size.width(rings - 1), height: size.height(rings - 1)};
    }

    function places(data, colours, spaces) {
        const found = new Map([[data.nodes[0].id, {x: 0, y: 0}]]);
        const rank = new Map(); // where in its ring a concept belongs: beside those of its dimension, or its neighbour
        const links = new Map(data.nodes.map((node) => [node.id, []]));
        for (const edge of data.edges) {
            links.get(edge.concept).push([edge.parent, edge]);
            links.get(edge.parent).push([edge.concept, edge]);
        }
        const first = data.nodes.filter((node) => node.distance === 1);
        const dims = [...colours.keys()];
        for (const node of first) {
            const own = links.get(node.id).find(([other]) => other === data.nodes[0].id);
            rank.set(node.id, own ? dims.indexOf(own[1].dimension) * 2 + (own[1].parent === node.id ? 0 : 1) : dims.length * 2);
        }
        first.sort((a, b) => rank.get(a.id) - rank.get(b.id) || (a.token < b.token ? -1 : 1));
        let size = {width: 0, height: 0};
        if (first.length) {
            size = ring(first, size, found, spaces);
        }
        const order = new Map(first.map((node, index) => [node.id, index]));
        const second = data.nodes.filter((node) => node.distance === 2);
        const nearest = (node) => Math.min(...links.get(node.id).map(([other]) => order.get(other) ?? Infinity));
        second.sort((a, b) => nearest(a) - nearest(b) || (a.token < b.token ? -1 : 1));
        if (second.length) {
            ring(second, size, found, spaces);
        }
        return found;
    }

    // --- the picture ---

    function style() {
        const text = colour("text");
        const ground = colour("ground");
        const line = (edge) => (edge.data("conflict") ? colour("dispute") : colour(`dim-${edge.data("colour")}`));
        return [
            {
                selector: "node",
                style: {
                    shape: "round-rectangle", width: "data(width)", height: 22, padding: "7px", label: "data(label)",
                    "font-size": FONT, "font-family": "sans-serif", "text-valign": "center", "text-halign": "center", color: text,
                    "background-color": colour("soft"), "border-width": 1, "border-color": colour("quiet"),
                },
            },
            {selector: "node[?is_muted]", style: {"border-style": "dotted", "border-width": 2}},
            {
                selector: "node[distance = 0]",
                style: {
                    "background-color": text, color: ground, "font-size": CENTRE_FONT, "font-weight": "bold", height: 30,
                    "border-width": 4, "border-color": colour("link"),
                },
            },
            {
                selector: "edge",
                style: {
                    width: 2, "curve-style": "bezier", "line-color": line, "target-arrow-color": line, label: "data(label)",
                    "target-arrow-shape": "triangle", "arrow-scale": 1.2, color: line, "font-size": 11,
                    "text-background-color": ground, "text-background-opacity": 1, "text-background-padding": "2px",
                    "text-rotation": "autorotate",
                },
            },
            {selector: "edge[!is_isa]", style: {width: 4, "target-arrow-shape": "diamond", "arrow-scale": 0.9}},
            {selector: "edge[?conflict]", style: {"line-style": "dashed", "line-dash-pattern": [7, 5]}},
            {selector: "edge[!stands]", style: {"line-dash-pattern": [2, 5]}},
            {selector: ".fst-seen", style: {"underlay-color": colour("link"), "underlay-opacity": 0.35, "underlay-padding": 6}},
        ];
    }

    function draw(data) {
        const graph = part("graph");
        const colours = dimensions(data);
        const at = places(data, colours, graph.clientWidth < NARROW_BELOW ? NARROW : WIDE);
        graph.classList.toggle("fst-graph-small", data.nodes.length === 1);
        graph.classList.toggle("fst-graph-large", data.nodes.length > 25);
        picture?.destroy();
        picture = window.cytoscape({
            container: graph,
            elements: [
                ...data.nodes.map((node) => ({
                    data: {...node, id: String(node.id), label: short(node.token), width: width(node)},
                    position: at.get(node.id),
                })),
                ...data.edges.map((edge) => ({
                    data: {
                        ...edge, source: String(edge.concept), target: String(edge.parent),
                        label: edge.dimension + mark(edge), colour: colours.get(edge.dimension),
                    },
                })),
            ],
            layout: {name: "preset", padding: 25},
            style: style(),
            minZoom: 0.15,
            maxZoom: 3,
            boxSelectionEnabled: false,
            autoungrabify: true,
            userZoomingEnabled: window.matchMedia("(pointer: coarse)").matches, // else the wheel would no longer scroll
        });
        fit();
        picture.on("tap", "edge", (event) => {
            window.location.assign(event.target.data("conflict") || event.target.data("href"));
        });
        picture.on("mouseover", "edge", () => graph.style.setProperty("cursor", "pointer"));
        picture.on("mouseout", "edge", () => graph.style.removeProperty("cursor"));
        link(data.nodes.filter((node) => node.distance));
    }

    function link(nodes) {
        // Over the canvas, so that a concept is opened as any link is: with the keyboard, in another tab.
        const links = new Map(nodes.map((node) => [String(node.id), concept(node)]));
        for (const node of nodes) {
            const own = links.get(String(node.id));
            own.replaceChildren();
            own.title = node.token;
            own.setAttribute("aria-label", node.token);
        }
        part("links").replaceChildren(...links.values());
        picture.on("render", () => links.forEach((own, id) => {
            const node = picture.getElementById(id);
            const {x, y} = node.renderedPosition();
            Object.assign(own.style, {
                left: `${x}px`, top: `${y}px`, width: `${node.renderedOuterWidth()}px`, height: `${node.renderedOuterHeight()}px`,
            });
        }));
    }

    function fit() {
        picture.fit(undefined, 25);
        picture.zoom({level: Math.min(picture.zoom(), 1.2), renderedPosition: {x: picture.width() / 2, y: picture.height() / 2}});
        if (picture.nodes().length === 1) {
            picture.center();
        }
    }

    function zoom(factor) {
        const middle = {x: picture.width() / 2, y: picture.height() / 2};
        const level = picture.zoom() * factor;
        if (calm.matches) {
            picture.zoom({level, renderedPosition: middle});
        } else {
            picture.stop().animate({zoom: {level, renderedPosition: middle}, duration: 120});
        }
    }

    // --- legend and list ---

    function sample(stroke, {width = 2, dashes = "", tip}) {
        const ends = {
            triangle: "M30 2 L40 7 L30 12 Z",
            diamond: "M28 7 L34 2 L40 7 L34 12 Z",
        };
        const dashed = dashes ? ` stroke-dasharray="${dashes}"` : "";
        const end = tip ? `<path d="${ends[tip]}" fill="${stroke}"/>` : "";
        return `<svg width="40" height="14" viewBox="0 0 40 14" aria-hidden="true">`
            + `<line x1="0" y1="7" x2="${tip ? 30 : 40}" y2="7" stroke="${stroke}" stroke-width="${width}"${dashed}/>${end}</svg>`;
    }

    function entry(drawing, words) {
        const item = document.createElement("li");
        item.innerHTML = drawing; // of this file's own making
        item.append(words);
        return item;
    }

    function explain(data) {
        const items = [];
        const further = [];
        for (const [name, number] of dimensions(data)) {
            if (number < LAST_COLOUR) {
                items.push(entry(sample(`var(--fst-dim-${number})`, {width: 4}), name));
            } else {
                further.push(name);
            }
        }
        if (further.length) {
            items.push(entry(sample(`var(--fst-dim-${LAST_COLOUR})`, {width: 4}), further.join(", ")));
        }
        if (data.edges.some((edge) => edge.is_isa)) {
            items.push(entry(sample("currentColor", {tip: "triangle"}), "is a"));
        }
        if (data.edges.some((edge) => !edge.is_isa)) {
            items.push(entry(sample("currentColor", {width: 4, tip: "diamond"}), "is in, on or of"));
        }
        if (data.edges.some((edge) => edge.conflict && edge.stands)) {
            items.push(entry(sample("var(--fst-dispute)", {dashes: "7 5"}), "? disputed"));
        }
        if (data.edges.some((edge) => !edge.stands)) {
            items.push(entry(sample("var(--fst-dispute)", {dashes: "2 5"}), "? claimed, not current"));
        }
        part("legend").replaceChildren(...items);
    }

    function anchor(words, address) {
        const link = document.createElement("a");
        link.className = "fst-link";
        link.href = address;
        link.textContent = words;
        return link;
    }

    function concept(node) {
        // The neighbour's page begins with its picture, which reaches as far as this one.
        const link = anchor(node.token, `${node.href}?depth=${depth}#fst-picture`);
        const underline = (isSeen) => picture?.getElementById(String(node.id)).toggleClass("fst-seen", isSeen);
        for (const [kind, isSeen] of [["focus", true], ["mouseenter", true], ["blur", false], ["mouseleave", false]]) {
            link.addEventListener(kind, () => underline(isSeen));
        }
        return link;
    }

    function list(data) {
        const nodes = new Map(data.nodes.map((node) => [node.id, node]));
        const items = data.edges.map((edge) => {
            const item = document.createElement("li");
            item.append(concept(nodes.get(edge.concept)), ` ${edge.relation} `, concept(nodes.get(edge.parent)));
            item.append(` [${edge.dimension}] `);
            if (edge.conflict) {
                item.append(anchor(edge.stands ? "? disputed" : "? claimed, not current", edge.conflict));
            }
            return item;
        });
        part("list").replaceChildren(...items);
        root.querySelector("details").hidden = !items.length;
    }

    // --- what is done with it ---

    const buttons = document.querySelectorAll("[data-depth]");
    let asked = 0;

    async function show(steps) {
        const number = ++asked;
        depth = steps;
        try {
            const answer = await fetch(`${root.dataset.url}?depth=${depth}`, {credentials: "same-origin"});
            if (!answer.ok) {
                throw new Error(`The server answered ${answer.status}.`);
            }
            const data = await answer.json();
            if (number !== asked) {
                return; // another was asked for meanwhile
            }
            shown = data;
            draw(data);
            explain(data);
            list(data);
            part("status").textContent = summary(data);
        } catch (error) {
            if (number === asked) {
                part("status").textContent = `The picture could not be made. ${error.message} Reload the page to try again.`;
            }
        }
    }

    for (const button of buttons) {
        button.addEventListener("click", () => {
            buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
            show(button.dataset.depth);
        });
    }
    const sizes = {in: () => zoom(ZOOM_STEP), out: () => zoom(1 / ZOOM_STEP), fit};
    for (const button of document.querySelectorAll("[data-zoom]")) {
        button.addEventListener("click", () => picture && sizes[button.dataset.zoom]());
    }
    new MutationObserver(() => shown && picture.style(style())).observe(document.documentElement, {
        attributes: true, attributeFilter: ["class"],
    });
    window.addEventListener("resize", () => picture && fit());
    const wanted = new URLSearchParams(window.location.search).get("depth");
    ([...buttons].find((button) => button.dataset.depth === wanted) || buttons[0]).click();
})();
