// A collection: a feeling, a situation, then two talks over a WebSocket. The server sends how it stands after every
// change; a page that comes back is shown the same. What was not yet heard by the server is sent again.
import { announce, button, element, facts, own, say, show, tell } from "./parts.js";

export function collect(state, go) {
  ({ feeling, situation, live }[state.stage])(state, go);
}

function feeling({ offered }, go) {
  show(
    element("h2", { text: say("feeling") }), element("p", { kind: "soft", text: say("feeling_say") }),
    element("div", { kind: "feelings", children: offered.map((name) => button(say(`emotion_${name}`), () => go("feeling", { emotion: name }))) }),
  );
}

function situation({ emotion }, go) {
  const text = element("textarea", { id: "situation", rows: 4, maxlength: 1000, dir: "auto", required: true });
  const form = element("form", { kind: "survey", on: { submit: (event) => {
    event.preventDefault();
    if (text.value.trim()) go("situation", { text: text.value });
  } }, children: [
    element("label", { for: "situation", kind: "big", text: say("situation", { emotion: say(`emotion_${emotion}`) }) }),
    element("p", { kind: "soft", text: say("situation_say") }), text,
    element("div", { kind: "steps", children: [element("button", { type: "submit", kind: "main", text: say("to_talk") })] }),
  ] });
  show(form);
  text.focus();
}

function live(_, go) {
  let socket;
  let unheard = null; // {post, text}: sent, not yet seen in the talk
  let drawn = "";
  let over = false;
  let wait = 300;

  function connect() {
    socket = new WebSocket(new URL(own("live"), location.href.replace(/^http/, "ws")));
    socket.onmessage = (event) => {
      wait = 300;
      tell("");
      draw(JSON.parse(event.data));
    };
    socket.onclose = (event) => {
      if (over || event.code === 4000) return;
      if (event.code === 4404) return void go("state");
      tell("reconnecting");
      setTimeout(connect, wait);
      wait = Math.min(5000, wait * 2);
    };
  }

  const send = (message) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };

  function draw(now) {
    if (now.stage === "over") {
      over = true;
      socket.close();
      return void go("state");
    }
    if (now.stage === "waiting") return waiting(now);
    if (unheard) {
      if (now.turns.some((turn) => turn.post === unheard.post)) unheard = null;
      else if (now.turn) send({ type: "say", ...unheard });
      else unheard = null;
    }
    return talk(now);
  }

  function waiting({ nobody, note }) {
    const key = `waiting ${nobody} ${note}`;
    if (drawn === key) return;
    drawn = key;
    show(element("div", { kind: "wait", children: [
      note && element("p", { kind: "note", text: say(note) }),
      element("h2", { text: say("waiting") }), element("p", { text: say(nobody ? "nobody" : "waiting_say") }),
      nobody && button(say("finish"), () => send({ type: "go" })),
      button(say("leave"), () => send({ type: "leave" }), { kind: "quiet" }),
    ] }));
  }

  function talk(now) {
    const key = `talk ${now.number}`;
    if (drawn !== key) {
      drawn = key;
      frame(now);
    }
    const turns = now.turns.map((turn) => element("li", { kind: turn.mine ? "me" : "them", children: [
      element("span", { kind: "who", text: say(turn.mine ? "me" : "them") }), element("p", { kind: "text", text: turn.text, dir: "auto" }),
    ] }));
    document.getElementById("talk").replaceChildren(...turns);
    const last = now.turns.at(-1);
    if (last && !last.mine) announce(last.text);
    document.getElementById("whose").textContent = now.away ? say("away") : say(now.turn ? "your_turn" : "their_turn");
    document.getElementById("count").textContent = say("turns", { n: now.turns.length, ...facts.collect });
    document.getElementById("end").hidden = !now.may_end;
    const message = document.getElementById("message");
    const was = message.disabled;
    message.disabled = !now.turn;
    document.getElementById("send").disabled = !now.turn;
    if (now.turn && was) message.focus();
    document.querySelector(".live form").scrollIntoView({ block: "nearest" });
  }

  function frame(now) {
    const message = element("textarea", { id: "message", rows: 2, maxlength: 1000, dir: "auto", "aria-label": say("message"), placeholder: say("message"), disabled: true });
    const submit = (event) => {
      event.preventDefault();
      const text = message.value.trim();
      if (!text || message.disabled || unheard) return;
      unheard = { post: crypto.randomUUID?.() || String(Math.random()), text };
      send({ type: "say", ...unheard });
      message.value = "";
    };
    message.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) submit(event); });
    show(element("div", { kind: "live", children: [
      element("div", { kind: "progress", children: [element("p", { text: say("talk", { n: now.number, all: now.of }) }), element("p", { id: "count" })] }),
      element("section", { kind: "task", children: [
        element("p", { text: say(now.role) }),
        now.situation && element("p", { kind: "soft", text: say("your_situation", { emotion: say(`emotion_${now.emotion}`) }) }),
        now.situation && element("p", { kind: "text", text: now.situation, dir: "auto" }),
      ] }),
      element("ol", { kind: "talk", id: "talk", role: "log", "aria-label": say("conversation") }),
      element("p", { id: "whose", kind: "soft", role: "status" }),
      element("form", { on: { submit }, children: [message, element("button", { type: "submit", id: "send", kind: "main", text: say("send"), disabled: true })] }),
      element("div", { kind: "steps", children: [
        button(say("leave"), () => send({ type: "leave" }), { kind: "quiet" }),
        button(say("end_talk"), () => send({ type: "end" }), { id: "end", hidden: true }),
      ] }),
    ] }));
  }

  show(element("div", { kind: "wait", children: [element("h2", { text: say("waiting") })] }));
  connect();
}
