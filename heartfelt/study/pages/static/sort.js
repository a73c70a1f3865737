// meed2's three areas: replies are dragged into good, okay or bad by mouse or finger, or put there by buttons and keys.
// One set of pointer events serves mouse and touch; a finger drags by the handle, so that the page still scrolls.
import { announce, button, element, say } from "./parts.js";

const AREAS = ["good", "okay", "bad"];
const FAR = 6; // pixels that make a press a drag
const EDGE = 70; // pixels from the screen's edge, where the page scrolls with the drag

export class Sorter {
  constructor(replies, areas, changed) {
    this.changed = changed;
    this.zones = Object.fromEntries(["tray", ...AREAS].map((area) => [area, this.zone(area)]));
    this.cards = replies.map((text, i) => this.card(text, i));
    this.cards.forEach((card, i) => this.put(card, areas?.[i] || "tray", false));
    this.element = element("section", { kind: "sorter", "aria-label": say("replies"), children: [
      this.zones.tray, element("div", { kind: "areas", children: AREAS.map((area) => this.zones[area]) }),
    ] });
  }

  zone(area) {
    return element("div", { kind: `zone ${area}`, "data-area": area, role: "group", "aria-label": say(area), children: [
      element("h3", { text: say(area) }), element("p", { kind: "soft hint", text: area === "tray" ? "" : say("empty") }),
      element("div", { kind: "cards" }),
    ] });
  }

  card(text, index) {
    const name = say("reply", { n: index + 1 });
    const made = element("article", { kind: "card", tabindex: 0, "data-card": index, role: "group", "aria-label": `${name}: ${text}`, children: [
      element("span", { kind: "handle", "aria-hidden": "true", title: say("handle"), text: "⠿" }),
      element("p", { kind: "text", text, dir: "auto" }),
      element("div", { kind: "where", children: AREAS.map((area) => button(say(area), () => this.put(made, area), { "data-to": area, "aria-pressed": "false" })) }),
      element("p", { kind: "feedback", hidden: true }),
    ] });
    made.name = name;
    made.addEventListener("keydown", (event) => this.key(made, event));
    made.addEventListener("pointerdown", (event) => this.press(made, event));
    return made;
  }

  areas() {
    const found = this.cards.map((card) => card.dataset.area);
    return found.includes("tray") ? null : found;
  }

  put(card, area, tells = true) {
    const focused = card.contains(document.activeElement) ? document.activeElement : null;
    if (card.dataset.area !== area) this.zones[area].querySelector(".cards").append(card);
    card.dataset.area = area;
    for (const one of card.querySelectorAll("[data-to]")) one.setAttribute("aria-pressed", String(one.dataset.to === area));
    if (focused) focused.focus({ preventScroll: true }); // a card that moves in the page would lose it
    for (const zone of Object.values(this.zones)) zone.classList.toggle("filled", zone.querySelector(".card") !== null);
    if (!tells) return;
    announce(say("moved", { reply: card.name, area: say(area) }));
    this.changed(this.areas());
  }

  key(card, event) {
    if (event.target !== card) return;
    const area = { 1: "good", 2: "okay", 3: "bad", 0: "tray" }[event.key];
    if (area) {
      event.preventDefault();
      this.put(card, area);
    }
  }

  press(card, event) {
    const finger = event.pointerType !== "mouse";
    if (event.button !== 0 || event.target.closest("button") || (finger && !event.target.closest(".handle"))) return;
    event.preventDefault();
    const from = { x: event.clientX, y: event.clientY + window.scrollY };
    let dragging = false;
    let at = event;
    const move = (now) => {
      at = now;
      const [x, y] = [now.clientX - from.x, now.clientY + window.scrollY - from.y];
      if (!dragging && Math.hypot(x, y) < FAR) return;
      dragging = true;
      card.classList.add("dragged");
      card.style.transform = `translate(${x}px, ${y}px)`;
      this.light(this.below(now));
    };
    const scroll = setInterval(() => { // near an edge of the screen, the page comes along
      const step = at.clientY > window.innerHeight - EDGE ? 12 : at.clientY < EDGE ? -12 : 0;
      if (!dragging || !step) return;
      window.scrollBy(0, step);
      move(at);
    }, 16);
    const stop = (now) => {
      clearInterval(scroll);
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", stop);
      window.removeEventListener("pointercancel", stop);
      const zone = dragging && now.type === "pointerup" ? this.below(now) : null;
      card.classList.remove("dragged");
      card.style.transform = "";
      this.light(null);
      if (zone) this.put(card, zone.dataset.area);
      card.focus({ preventScroll: true });
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", stop);
    window.addEventListener("pointercancel", stop);
  }

  below(event) {
    // The dragged card lets the pointer through (pointer-events: none), so this is what lies under it.
    return document.elementFromPoint(event.clientX, event.clientY)?.closest(".zone") || null;
  }

  light(zone) {
    for (const one of Object.values(this.zones)) one.classList.toggle("over", one === zone);
  }

  hint(texts, right) {
    this.cards.forEach((card, i) => {
      const told = card.querySelector(".feedback");
      told.hidden = false;
      told.textContent = texts[i];
      told.className = `feedback ${right[i] ? "right" : "wrong"}`;
    });
  }
}
