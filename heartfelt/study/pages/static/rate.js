// The pages of a batch: Likert scales, three areas, or a choice. A page is saved as soon as it is whole, and with each
// change after that; one goes on when the server has said that it has it.
import { ask, button, conversation, element, facts, fail, own, Refused, say, show, tell } from "./parts.js";
import { Sorter } from "./sort.js";

export function rate(state, finish) {
  const { work, pages, answers } = state;
  const known = answers.map((one) => one || { value: null, revision: 0 });
  let place = known.findIndex((one) => one.value === null);
  if (place < 0) place = pages.length - 1;
  let queue = Promise.resolve();
  let wanted = 0; // of posts; the last one tells what is shown
  let shownAt = 0;
  let next;
  let onBonus = () => {};

  function ready() {
    next.disabled = known[place].value === null || wanted > 0;
  }

  function save(at, value) {
    known[at].value = value;
    if (value === null) return ready(); // something was taken back: the page is not whole
    wanted += 1;
    tell("saving");
    ready();
    const revision = (known[at].revision += 1);
    const body = { work, place: at, revision, value, seconds: (performance.now() - shownAt) / 1000 };
    queue = queue.then(async () => {
      try {
        const saved = await ask(own("answer"), body, () => tell("not_saved"));
        if ("bonus" in saved) known[at].bonus = saved.bonus;
        wanted -= 1;
        if (!wanted) tell("saved");
        onBonus();
      } catch (wrong) {
        wanted -= 1;
        tell("");
        if (!(wrong instanceof Refused)) throw wrong;
        if (wrong.code === "older_answer") location.reload(); // another tab was here
        fail(wrong.message);
        known[at].value = null;
      }
      ready();
    });
    return queue;
  }

  function open(at, remember = true) {
    place = at;
    if (remember) history.pushState({ place: at }, "");
    shownAt = performance.now();
    tell(known[at].value === null ? "" : "saved");
    const page = pages[at];
    const last = at === pages.length - 1;
    next = button(say(last ? "finish" : "next"), async () => {
      await queue;
      if (!last) return open(at + 1);
      const missing = known.findIndex((one) => one.value === null);
      return missing < 0 ? finish(work) : open(missing);
    }, { kind: "main", id: "next" });
    const back = button(say("back"), () => open(at - 1), { disabled: at === 0, id: "back" });
    const body = VIEWS[facts.kind](page, known[at].value, (value) => save(at, value));
    show(
      element("div", { kind: "progress", children: [
        element("p", { text: say("page", { n: at + 1, all: pages.length }) }),
        element("progress", { max: pages.length, value: known.filter((one) => one.value !== null).length, "aria-label": say("page", { n: at + 1, all: pages.length }) }),
      ] }),
      element("div", { kind: `judge ${facts.kind}`, children: [conversation(page.context), body] }),
      page.bonus && bonus(at), element("div", { kind: "steps", children: [back, next] }),
    );
    ready();
  }

  function bonus(at) {
    const told = element("p", { role: "status", id: "bonus" });
    const check = button(say("bonus_check"), async () => {
      await queue;
      told.textContent = say(known[at].bonus ? "bonus_yes" : "bonus_no");
    }, { disabled: true });
    onBonus = () => { check.disabled = known[at].bonus === undefined; };
    onBonus();
    return element("div", { kind: "bonus", children: [element("p", { text: say("bonus_page") }), check, told] });
  }

  window.onpopstate = (event) => {
    if (event.state?.place !== undefined) open(event.state.place, false);
  };
  history.replaceState({ place }, "");
  open(place, false);
}

const VIEWS = { likert, choose, sort };

function likert(page, value, changed) {
  const scores = page.replies.map((_, i) => ({ ...(value?.[i] || {}) }));
  const set = (i, name, score) => {
    scores[i][name] = score;
    const whole = scores.every((one) => facts.questions.every((question) => question.name in one));
    changed(whole ? scores.map((one) => ({ ...one })) : null);
  };
  const replies = page.replies.map((text, i) => element("article", { kind: "reply", children: [
    element("h3", { text: page.replies.length > 1 ? say("reply", { n: i + 1 }) : say("rate") }),
    element("p", { kind: "text", text, dir: "auto" }),
    ...facts.questions.map((question) => scale(question, `r${i}-${question.name}`, scores[i][question.name], (score) => set(i, question.name, score))),
  ] }));
  return element("section", { kind: "replies", "aria-label": say("replies"), children: replies });
}

function scale(question, name, chosen, picked) {
  const count = question.high - question.low + 1;
  const points = Array.from({ length: count }, (_, i) => {
    const score = question.low + i;
    const label = question.labels.length === count ? question.labels[i] : "";
    const input = element("input", {
      type: "radio", name, id: `${name}-${score}`, value: score, checked: chosen === score, on: { change: () => picked(score) },
    });
    return element("label", { for: `${name}-${score}`, children: [
      input, element("span", { kind: "point", text: String(score) }), label && element("span", { kind: "soft", text: label, dir: "auto" }),
    ] });
  });
  const ends = question.labels.length === 2 && element("p", { kind: "ends soft", children: question.labels.map((text) => element("span", { text, dir: "auto" })) });
  return element("fieldset", { kind: "scale", children: [
    element("legend", { text: question.ask, dir: "auto" }), element("div", { kind: "points", children: points }), ends,
  ] });
}

function choose(page, value, changed) {
  const cards = page.replies.map((text, i) => element("article", { kind: "reply", children: [
    element("h3", { text: say("reply", { n: i + 1 }) }), element("p", { kind: "text", text, dir: "auto" }),
  ] }));
  const options = [[0, "better_0"], [1, "better_1"], ["tie", "tie"], ["bad", "both_bad"]].map(([choice, word]) =>
    element("label", { for: `choice-${choice}`, children: [
      element("input", { type: "radio", name: "choice", id: `choice-${choice}`, checked: value === choice, on: { change: () => changed(choice) } }),
      element("span", { text: say(word) }),
    ] }));
  return element("section", { kind: "replies", children: [
    element("div", { kind: "pair", children: cards }),
    element("fieldset", { kind: "options choices", children: [element("legend", { text: say("choose") }), ...options] }),
  ] });
}

function sort(page, value, changed) {
  return new Sorter(page.replies, value, changed).element;
}
