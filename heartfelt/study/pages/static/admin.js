// The lead's page: nothing is shown before the key has been taken; it is kept in this tab alone.
const $ = (name) => document.getElementById(name);
let key = sessionStorage.getItem("study-key") || "";

async function ask(path, options = {}) {
  const response = await fetch(`admin/${path}`, { cache: "no-store", ...options, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" } });
  if (!response.ok) throw new Error((await response.json()).error.message);
  return response;
}

function cell(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text === null ? "" : String(text);
  return made;
}

function row(tag, texts) {
  const made = document.createElement("tr");
  made.append(...texts.map((text) => cell(tag, text)));
  return made;
}

async function refresh() {
  const { figures, raters } = await (await ask("status")).json();
  $("figures").replaceChildren(...Object.entries(figures).map(([name, value]) => {
    const box = document.createElement("div");
    box.append(cell("dt", name), cell("dd", value));
    return box;
  }));
  const columns = raters.length ? Object.keys(raters[0]) : [];
  $("raters").replaceChildren(row("th", columns), ...raters.map((one) => row("td", columns.map((name) => one[name]))));
  $("key-form").hidden = true;
  $("board").hidden = false;
}

async function attempt(work) {
  $("problem").hidden = true;
  try { await work(); } catch (wrong) {
    $("problem").textContent = wrong.message;
    $("problem").hidden = false;
  }
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = $("key").value;
  attempt(async () => {
    await refresh();
    sessionStorage.setItem("study-key", key);
  });
});

$("links-form").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const made = await (await ask("links", { method: "POST", body: JSON.stringify({ count: Number($("count").value) }) })).json();
    $("links").textContent = made.links.join("\n");
    $("links").hidden = false;
  });
});

for (const button of document.querySelectorAll("[data-take]")) {
  button.addEventListener("click", () => attempt(async () => {
    const what = button.dataset.take;
    const response = await ask(what, { method: what === "backup" ? "POST" : "GET" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = { export: "answers.jsonl", report: "report.html", backup: "study.db" }[what];
    link.click();
    URL.revokeObjectURL(link.href);
    $("taken").textContent = link.download;
  }));
}

if (key) attempt(refresh);
setInterval(() => { if (!$("board").hidden) attempt(refresh); }, 10000);
