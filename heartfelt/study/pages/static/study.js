// A rater's way: consent, instructions with a warm-up, pages, survey, code. The server says where they stand.
import { ask, button, conversation, element, facts, fail, own, paragraphs, Refused, say, show, tell, token } from "./parts.js";
import { rate } from "./rate.js";
import { Sorter } from "./sort.js";
import { collect } from "./live.js";

async function go(name, body) {
  try {
    view(await ask(own(name), body, () => tell("not_saved")));
    tell("");
  } catch (wrong) {
    if (!(wrong instanceof Refused)) throw wrong;
    fail(wrong.message);
  }
}

function view(state) {
  history.replaceState(null, "");
  ({
    consent: consent, instructions: instructions, survey: survey, done: done, full: done,
    rate: (now) => rate(now, (work) => go("finish", { work })),
  }[state.stage] || ((now) => collect(now, go)))(state);
}

function front() {
  const asked = new URLSearchParams(location.search);
  const worker = asked.get(facts.worker);
  const closed = facts.access === "links" || (facts.access === "crowd" && !worker);
  const kept = facts.access === "open" ? localStorage.getItem(location.pathname) : null;
  if (kept) return location.replace(`r/${kept}`); // their own link, from their last time here
  const join = async () => {
    try {
      const made = await ask("join", facts.access === "crowd" ? { worker } : {});
      if (facts.access === "open") localStorage.setItem(location.pathname, made.token);
      location.replace(`r/${made.token}`);
    } catch (wrong) { fail(wrong.message); }
  };
  const words = closed ? say(facts.access === "links" ? "front_links" : "front_crowd") : say("front");
  return show(paragraphs(words), !closed && button(say("begin"), join, { kind: "main" }));
}

function consent() {
  const next = button(say("next"), () => go("consent", {}), { kind: "main", disabled: true });
  const box = element("input", { type: "checkbox", id: "agree", on: { change: () => { next.disabled = !box.checked; } } });
  show(
    element("h2", { text: say("consent") }), paragraphs(facts.consent),
    element("label", { kind: "agree", for: "agree", children: [box, element("span", { text: say("agree") })] }),
    element("div", { kind: "steps", children: [next] }),
  );
}

function instructions({ warmup }) {
  const start = button(say("start"), () => go("begin", {}), { kind: "main", disabled: Boolean(warmup) });
  show(
    element("h2", { text: say("instructions") }), paragraphs(facts.instructions),
    warmup && practice(warmup, start), element("div", { kind: "steps", children: [start] }),
  );
}

function practice(warmup, start) {
  const sorter = new Sorter(warmup.replies, null, (areas) => { check.disabled = !areas; });
  const check = button(say("check"), async () => {
    try {
      const { replies } = await ask(own("warmup"), { areas: sorter.areas() });
      sorter.hint(replies.map((one) => (one.right ? say("right") : one.say || say("wrong"))), replies.map((one) => one.right));
      start.disabled = false;
    } catch (wrong) { fail(wrong.message); }
  }, { disabled: true });
  return element("section", { kind: "warmup", children: [
    element("h2", { text: say("warmup") }), element("p", { text: say("warmup_say") }),
    conversation(warmup.context), sorter.element, element("div", { kind: "steps", children: [check] }),
  ] });
}

function survey() {
  const fields = facts.survey.map((one, i) => {
    if (!one.options.length) {
      const input = element("textarea", { name: one.name, rows: 3, id: `q${i}`, dir: "auto", maxlength: 4000, required: one.required });
      return element("div", { kind: "field", children: [element("label", { for: `q${i}`, text: one.ask, dir: "auto" }), input] });
    }
    const options = one.options.map((option, j) => element("label", { for: `q${i}-${j}`, children: [
      element("input", { type: "radio", name: one.name, value: option, id: `q${i}-${j}`, required: one.required }),
      element("span", { text: option, dir: "auto" }),
    ] }));
    return element("fieldset", { kind: "field options", children: [element("legend", { text: one.ask, dir: "auto" }), ...options] });
  });
  const form = element("form", { kind: "survey", on: { submit: (event) => {
    event.preventDefault();
    const answers = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    go("survey", { answers });
  } }, children: [...fields, element("div", { kind: "steps", children: [element("button", { type: "submit", kind: "main", text: say("send") })] })] });
  show(element("h2", { text: say("survey") }), form);
}

function done({ codes, lost, more }) {
  const last = codes.at(-1);
  show(
    element("h2", { text: last ? say("done") : say("survey") }),
    lost && !last && element("p", { kind: "note", text: say("lost") }),
    last ? element("div", { kind: "code", children: [
      element("p", { text: say("code") }), element("output", { id: "code", text: last, dir: "ltr" }),
      element("p", { kind: "soft", text: say("code_say") }),
    ] }) : element("p", { text: say("full") }),
    more && element("div", { kind: "steps", children: [button(say("more"), () => go("begin", {}))] }),
    codes.length > 1 && element("ul", { kind: "soft", children: codes.map((code) => element("li", { text: code, dir: "ltr" })) }),
  );
}

const help = document.getElementById("helplines");
if (help) {
  document.getElementById("help").addEventListener("click", () => help.showModal());
  document.getElementById("help-close").addEventListener("click", () => help.close());
}
if (token) go("state");
else front();
