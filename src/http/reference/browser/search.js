// The search of the reference page, and the choice of its example language. The page works without it.

/** Folds text for comparison: `IDEMPOTENCY_CONFLICT`, `idempotency-conflict` and `idempotency conflict` match. */
export function folded(text) {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** How well a word matches an entry: in its title, better at the start of a word, or elsewhere; 0 if not at all. */
function weightOf(word, { title, text }) {
  if (` ${title}`.includes(` ${word}`)) return 4;
  if (title.includes(word)) return 3;
  if (` ${text}`.includes(` ${word}`)) return 2;
  return text.includes(word) ? 1 : 0;
}

/** An entry of the index, with `title` and `text` already folded. */
export function entryOf(id, title, text) {
  return { id, title: folded(title), text: folded(text) };
}

/** The ids of the entries that contain every word of the query, best first; null without any word. */
export function search(entries, query) {
  const words = folded(query).split(" ").filter(Boolean);
  if (words.length === 0) return null;
  return entries
    .map((entry) => ({ id: entry.id, weights: words.map((word) => weightOf(word, entry)) }))
    .filter(({ weights }) => weights.every((weight) => weight > 0))
    .map(({ id, weights }) => ({ id, weight: weights.reduce((sum, weight) => sum + weight) }))
    .sort((one, other) => other.weight - one.weight)
    .map(({ id }) => id);
}

function indexOf(items) {
  return items.map((item) => {
    const id = item.querySelector("a").hash.slice(1);
    const section = document.getElementById(id);
    const names = [...section.querySelectorAll("code")].map((code) => code.textContent);
    return entryOf(id, item.textContent, `${section.dataset.search ?? ""} ${names.join(" ")}`);
  });
}

function startSearch() {
  const box = document.querySelector("[data-search-box]");
  const [input, count, results] = ["input", "[role=status]", "ul"].map((part) => box.querySelector(part));
  const contents = document.querySelector("[data-contents]");
  const items = [...contents.querySelectorAll("li")];
  const links = new Map(items.map((item) => [item.querySelector("a").hash.slice(1), item]));
  let entries = null;
  box.hidden = false;

  const show = () => {
    entries ??= indexOf(items);
    const found = search(entries, input.value);
    contents.hidden = found !== null;
    results.replaceChildren(...(found ?? []).map((id) => links.get(id).cloneNode(true)));
    count.textContent = found === null ? "" : found.length === 1 ? "1 result" : `${found.length} results`;
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const first = results.querySelector("a");
    if (event.key === "Enter" && first) first.click();
    if (event.key === "ArrowDown" && first) first.focus();
    if (event.key === "Escape") {
      input.value = "";
      show();
    }
  });
  results.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [...results.querySelectorAll("a")];
    (all[all.indexOf(document.activeElement) + step] ?? input).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    input.focus();
  });
}

const LANGUAGE = "postledger-reference-language";

/** Remembers the chosen language. A browser that stores nothing shows the first one. */
function keepLanguage() {
  const choices = [...document.querySelectorAll("input[name=language]")];
  const stored = (act) => {
    try {
      return act(localStorage);
    } catch {
      return null;
    }
  };
  const kept = stored((storage) => storage.getItem(LANGUAGE));
  for (const choice of choices) {
    if (choice.id === kept) choice.checked = true;
    choice.addEventListener("change", () => stored((storage) => storage.setItem(LANGUAGE, choice.id)));
  }
}

/** On a narrow screen, closes the contents after a choice. */
function closeContents() {
  const menu = document.querySelector("#contents-shown");
  document.querySelector("nav").addEventListener("click", (event) => {
    if (event.target.closest("a")) menu.checked = false;
  });
}

function startCopying() {
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const shown = [...button.closest("figure").querySelectorAll("pre")].find((pre) => pre.checkVisibility());
    await navigator.clipboard.writeText(shown.textContent);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
}

if (typeof document !== "undefined") {
  startSearch();
  keepLanguage();
  closeContents();
  startCopying();
}
