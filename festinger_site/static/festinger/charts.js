// Draws the charts of the home page with Chart.js, which every page of the admin has. Their values stand in the page as
// JSON, and as a table for those who read them; colours are the stylesheet's, light or dark.
"use strict";

(() => {
    const drawn = [];

    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

    const inWords = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });

    // Two sets differ by their shape, too: the second line is dashed, the second bars are hollow.
    const dataset = (series, index) => {
        const ink = colour(`--fst-series-${index + 1}`);
        const isSecond = index > 0;
        const common = { label: series.name, data: series.values, borderColor: ink };
        if (series.kind === "counted") {
            const fill = isSecond ? "transparent" : ink;
            return { ...common, type: "bar", backgroundColor: fill, borderSkipped: "bottom", borderWidth: 1 };
        }
        const isAlone = (at) => series.values[at - 1] == null && series.values[at + 1] == null;
        return {
            ...common,
            type: "line",
            backgroundColor: ink,
            borderWidth: 1.5,
            borderDash: isSecond ? [4, 3] : [],
            pointHitRadius: 12,
            pointRadius: series.values.map((value, at) => (isAlone(at) ? 3 : 0)),  // else it would not be seen
            spanGaps: false,
        };
    };

    // Counts begin at nothing. A gauge is looked at for how it changes: around its values, and never below nothing.
    const limits = (panel) => {
        const known = panel.series.flatMap((series) => series.values).filter((value) => value != null);
        if (panel.series[0].kind !== "gauge" || !known.length) {
            return { beginAtZero: true, suggestedMax: panel.series[0].kind === "counted" ? 4 : undefined };
        }
        const least = Math.min(...known), most = Math.max(...known);
        const room = Math.max(1, (most - least) / 10);
        return { suggestedMin: Math.max(0, least - room), suggestedMax: most + room };
    };

    const options = (panel) => {
        const quiet = colour("--fst-quiet"), grid = colour("--fst-grid");
        const isCounted = panel.series[0].kind === "counted";
        return {
            animation: false,
            maintainAspectRatio: false,
            interaction: { mode: "index", intersect: false },
            plugins: {
                legend: {
                    display: panel.series.length > 1,
                    position: "bottom",
                    labels: {
                        boxHeight: 7, boxWidth: 18, color: quiet, padding: 8, usePointStyle: true,
                        pointStyle: isCounted ? "rect" : "line",
                    },
                },
                tooltip: {
                    callbacks: { label: (item) => `${item.dataset.label}: ${inWords(item.parsed.y)}` },
                },
            },
            scales: {
                x: {
                    border: { color: grid },
                    grid: { display: false },
                    ticks: { autoSkip: true, color: quiet, maxRotation: 0, maxTicksLimit: 5 },
                },
                y: {
                    ...limits(panel),
                    border: { display: false },
                    grid: { color: grid },
                    ticks: {
                        color: quiet,
                        maxTicksLimit: 4,
                        precision: panel.series[0].kind === "ms" ? 1 : 0,
                        callback: (value) => inWords(value),
                    },
                },
            },
        };
    };

    const draw = () => {
        while (drawn.length) {
            drawn.pop().destroy();
        }
        const data = document.getElementById("fst-charts-data");
        if (!data) {
            return;
        }
        const { labels, panels } = JSON.parse(data.textContent);
        Chart.defaults.font.family = "Inter, sans-serif";
        for (const panel of panels) {
            const canvas = document.querySelector(`#fst-charts canvas[data-panel="${panel.key}"]`);
            drawn.push(
                new Chart(canvas, { data: { labels, datasets: panel.series.map(dataset) }, options: options(panel) }),
            );
        }
    };

    // The switch between light and dark is a class of the page.
    new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["class"] });

    document.addEventListener("htmx:afterSettle", (event) => {
        if (event.detail.elt.id !== "fst-charts") {
            return;
        }
        draw();
        event.detail.elt.querySelector('nav [aria-current="true"]').focus();  // where the one that was pressed stood
    });

    draw();
})();
