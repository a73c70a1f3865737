// The why panel: bars of what was heard and planned, intents to pick or drag, what else could have been said.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const groups = document.getElementById("groups").dataset;
const time = new Intl.NumberFormat(document.documentElement.lang, {
  style: "unit", unit: "second", maximumFractionDigits: 2,
});
const words = document.getElementById("words").dataset;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text; // never as HTML
  if (className) made.className = className;
  return made;
}

function bar(label, share, group) {
  const row = element("div", undefined, `row ${group || ""}`);
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", "0 0 100 7");
  drawn.setAttribute("preserveAspectRatio", "none");
  drawn.setAttribute("aria-hidden", "true");
  const filled = document.createElementNS(SVG, "rect");
  filled.setAttribute("width", String(100 * share));
  filled.setAttribute("height", "7");
  drawn.append(filled);
  row.append(element("span", label), drawn, element("span", `${Math.round(100 * share)} %`, "share"));
  return row;
}

function bars(section, chances) {
  const likely = Object.entries(chances || {}).sort((a, b) => b[1] - a[1]).slice(0, 5);
  const shown = likely.filter(([, share]) => share >= 0.005);
  section.querySelector(".bars").replaceChildren(...shown.map(([name, share]) => bar(name, share, groups[name])));
  section.hidden = shown.length === 0;
}

function candidates(section, why, text) {
  const rows = (why.candidates || []).slice(0, 6).map((one) => {
    const row = element("li");
    const chosen = one.text === text;
    row.append(element("span", one.text, chosen ? "chosen" : ""));
    row.firstChild.dir = "auto";
    const total = one.scores.total;
    const score = total === undefined ? "" : ` ${total.toFixed(2)}`;
    if (one.about) row.append(element("span", ` ${one.about}`, "soft"));
    if (score || chosen) row.append(element("span", `${score}${chosen ? ` (${words.chosen})` : ""}`, "soft"));
    return row;
  });
  section.querySelector("ol").replaceChildren(...rows);
  section.hidden = rows.length === 0;
}

function concepts(section, why) {
  const rows = (why.concepts || []).map((one) => element("li", `${one.keyword} ${one.relation} ${one.concept}`));
  section.querySelector("ul").replaceChildren(...rows);
  section.hidden = rows.length === 0;
}

function showWhy(turn) {
  const panel = document.getElementById("why");
  const why = turn.why;
  bars(document.getElementById("why-heard"), why.emotions);
  bars(document.getElementById("why-plan"), why.plans);
  candidates(document.getElementById("why-candidates"), why, turn.text);
  concepts(document.getElementById("why-concepts"), why);
  const guard = document.getElementById("why-guard");
  guard.hidden = why.safety.action === "pass";
  guard.textContent = guard.hidden ? "" : words[why.safety.action];
  document.getElementById("why-steer").hidden = why.safety.action === "refer" || why.model === "none";
  for (const button of panel.querySelectorAll("[data-intent]")) {
    button.setAttribute("aria-pressed", String(button.dataset.intent === turn.intent));
  }
  const seconds = Object.values(why.timings || {}).reduce((sum, one) => sum + one, 0);
  document.getElementById("why-how").textContent = `${words.by} ${why.model}. ${words.took} ${time.format(seconds)}.`;
  panel.hidden = false;
}
