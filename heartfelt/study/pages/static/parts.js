// What the views share: words, elements, and posts that are tried again until the server has said yes or no.
// All text is set as text, never as HTML.
export const facts = JSON.parse(document.getElementById("facts").dataset.facts);
export const main = document.getElementById("main");
export const token = location.pathname.match(/\/r\/([^/]+)$/)?.[1] || "";
const problem = document.getElementById("problem");
const status = document.getElementById("saved");

export function say(name, values = {}) {
  return facts.words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

export function element(tag, { text, kind, on = {}, children = [], ...attributes } = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(name, value);
  }
  for (const [name, heard] of Object.entries(on)) made.addEventListener(name, heard);
  made.append(...children.filter(Boolean));
  return made;
}

export function button(text, pressed, { kind = "", ...attributes } = {}) {
  return element("button", { type: "button", text, kind, on: { click: pressed }, ...attributes });
}

export function paragraphs(text, kind = "prose") {
  const parts = text.trim().split(/\n\s*\n/).map((part) => element("p", { text: part, dir: "auto" }));
  return element("div", { kind, children: parts });
}

export function show(...children) {
  problem.hidden = true;
  main.replaceChildren(...children.filter(Boolean));
  main.setAttribute("aria-busy", "false");
  main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

export function fail(message) {
  problem.textContent = message ? `${say("failed")} ${message}` : "";
  problem.hidden = !message;
}

export function tell(name) {
  status.textContent = name ? say(name) : "";
  status.className = name || "";
}

export function announce(text) {
  document.getElementById("announce").textContent = text;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Refused extends Error {
  constructor(error) {
    super(error.message);
    this.code = error.code;
  }
}

async function once(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, { cache: "no-store", ...options });
  if (response.ok) return response.json();
  if (response.status >= 500) throw new Error(String(response.status)); // the server may come back
  throw new Refused((await response.json()).error);
}

// Posts are written so that a second copy changes nothing; so what got no answer is simply sent again.
export async function ask(path, body, waiting = () => {}) {
  for (let wait = 400; ; wait = Math.min(8000, wait * 2)) {
    try {
      return await once(path, body);
    } catch (wrong) {
      if (wrong instanceof Refused) throw wrong;
      waiting();
      await pause(wait);
    }
  }
}

export const own = (name) => `${token}/${name}`;

export function conversation(context) {
  // The last turn is the one that is answered: its side is the left, as in meed2.
  const turns = context.map((text, i) => element("li", {
    kind: (context.length - 1 - i) % 2 === 0 ? "one" : "two", children: [element("p", { kind: "text", text, dir: "auto" })],
  }));
  return element("section", { kind: "conversation", children: [
    element("h2", { text: say("conversation") }), element("ol", { kind: "talk", children: turns }),
  ] });
}
