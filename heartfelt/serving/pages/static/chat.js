// The talk: sends what was said, shows the answer as it comes, and asks again where another intent is picked.
// Nothing is kept: a reload forgets everything. All text is set as text, never as HTML.
"use strict";

const talk = []; // {role, text, why, intent, item}
const list = document.getElementById("talk");
const form = document.getElementById("say");
const message = document.getElementById("message");
const problem = document.getElementById("problem");
const panel = document.getElementById("why");
let explained = null; // the turn that the why panel is about
let writing = null; // an AbortController while an answer comes

function addTurn(role, text) {
  const item = document.getElementById("turn").content.firstElementChild.cloneNode(true);
  item.className = role === "user" ? "me" : "it";
  item.querySelector(".who").textContent = role === "user" ? words.you : words.it;
  item.querySelector(".text").textContent = text;
  list.append(item);
  list.scrollTop = list.scrollHeight;
  return { role, text, item };
}

function messagesUpTo(turn) {
  const before = talk.slice(0, talk.indexOf(turn));
  return before.map((one) => ({ role: one.role, content: one.text }));
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    const parts = held.split("\n\n");
    held = parts.pop();
    for (const part of parts) {
      const data = part.replace(/^data: /, "");
      if (data === "[DONE]") return;
      yield JSON.parse(data);
    }
  }
}

async function ask(turn, steer) {
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem("key");
  if (key) headers.Authorization = `Bearer ${key}`;
  const body = { messages: messagesUpTo(turn), stream: true, heartfelt: { why: true, ...steer } };
  const response = await fetch("v1/chat/completions", {
    method: "POST", headers, body: JSON.stringify(body), signal: writing.signal,
  });
  if (!response.ok) {
    document.getElementById("key-form").hidden = response.status !== 401;
    throw new Error((await response.json()).error.message);
  }
  let text = "";
  for await (const event of eventsOf(response)) {
    if (event.error) throw new Error(event.error.message);
    for (const choice of event.choices) {
      text += choice.delta.content || "";
      turn.item.querySelector(".text").textContent = text;
      if (choice.heartfelt) turn.why = choice.heartfelt;
      list.scrollTop = list.scrollHeight;
    }
  }
  turn.text = text.trim();
  turn.item.querySelector(".text").textContent = turn.text;
}

async function answer(turn, steer = {}) {
  writing = new AbortController();
  busy(true);
  problem.hidden = true;
  turn.item.classList.add("writing");
  const before = turn.text;
  try {
    await ask(turn, steer);
    turn.intent = steer.intent;
    turn.item.classList.toggle("refer", turn.why.safety.action === "refer");
    offerWhy(turn);
    if (explained === turn) showWhy(turn);
  } catch (wrong) {
    turn.text = before;
    turn.item.querySelector(".text").textContent = before;
    if (!before) takeBack(turn);
    if (wrong.name !== "AbortError") {
      problem.textContent = `${words.failed} ${wrong.message}`;
      problem.hidden = false;
    }
  } finally {
    turn.item.classList.remove("writing");
    writing = null;
    busy(false);
  }
}

function takeBack(turn) {
  // What was not answered goes back to where it was written.
  const [said] = talk.splice(talk.indexOf(turn) - 1, 2);
  message.value = said.text;
  said.item.remove();
  turn.item.remove();
}

function busy(is) {
  document.getElementById("send").hidden = is;
  document.getElementById("stop").hidden = !is;
  list.setAttribute("aria-busy", String(is));
  for (const button of panel.querySelectorAll("[data-intent]")) button.disabled = is;
}

function offerWhy(turn) {
  if (turn.item.querySelector(".ask")) return;
  const button = element("button", words.why, "quiet ask");
  button.type = "button";
  button.setAttribute("aria-controls", "why");
  button.addEventListener("click", () => {
    explained = turn;
    showWhy(turn);
    panel.focus();
  });
  turn.item.append(button);
  turn.item.addEventListener("dragover", (event) => {
    event.preventDefault();
    turn.item.classList.add("drop");
  });
  turn.item.addEventListener("dragleave", () => turn.item.classList.remove("drop"));
  turn.item.addEventListener("drop", (event) => {
    event.preventDefault();
    turn.item.classList.remove("drop");
    const intent = event.dataTransfer.getData("text/plain");
    if (panel.querySelector(`[data-intent="${CSS.escape(intent)}"]`)) steerTo(turn, intent);
  });
}

function steerTo(turn, intent) {
  if (writing) return;
  explained = turn;
  const after = talk.splice(talk.indexOf(turn) + 1); // what followed answered something else
  for (const one of after) one.item.remove();
  answer(turn, { intent, candidates: 4 });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text || writing) return;
  message.value = "";
  message.style.blockSize = "";
  talk.push(addTurn("user", text), addTurn("assistant", ""));
  answer(talk[talk.length - 1]);
});
message.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
document.getElementById("stop").addEventListener("click", () => writing && writing.abort());
document.getElementById("new").addEventListener("click", () => {
  if (writing) writing.abort();
  for (const turn of talk.splice(0)) turn.item.remove();
  closeWhy();
  message.focus();
});

function closeWhy() {
  panel.hidden = true;
  const from = explained && explained.item.querySelector(".ask");
  explained = null;
  if (from) from.focus();
}
document.getElementById("why-close").addEventListener("click", closeWhy);
panel.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeWhy();
});
for (const button of panel.querySelectorAll("[data-intent]")) {
  button.addEventListener("click", () => explained && steerTo(explained, button.dataset.intent));
  button.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", button.dataset.intent));
}

const dialog = document.getElementById("helplines");
document.getElementById("help").addEventListener("click", () => dialog.showModal());
document.getElementById("help-close").addEventListener("click", () => dialog.close());
document.getElementById("country").addEventListener("change", (event) => {
  for (const lines of dialog.querySelectorAll(".lines")) lines.hidden = lines.dataset.country !== event.target.value;
});
document.getElementById("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", document.getElementById("key").value);
  event.target.hidden = true;
  problem.hidden = true;
  message.focus();
});
