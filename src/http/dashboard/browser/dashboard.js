// Scripts of the dashboard's pages, which work without them too.

document.documentElement.classList.add("scripted");

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const localHour = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const localDay = new Intl.DateTimeFormat(undefined, { dateStyle: "long" });
const localTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Times arrive in UTC. Shows them in the viewer's time zone, with UTC on hover. */
function showLocalTimes(root) {
  for (const element of root.querySelectorAll("time[data-local-hour]")) {
    const from = new Date(element.dateTime);
    element.title = element.textContent.trim();
    element.textContent = localHour.formatRange(from, new Date(from.getTime() + 3_600_000));
    element.removeAttribute("data-local-hour");
  }
  for (const element of root.querySelectorAll("time[data-local-day]")) {
    element.textContent = localDay.format(new Date(element.dateTime));
    element.removeAttribute("data-local-day");
  }
  for (const element of root.querySelectorAll("time[data-local]")) {
    element.title = element.textContent.trim();
    element.textContent = localTime.format(new Date(element.dateTime));
    element.removeAttribute("data-local");
  }
}

/** A time in the form of `datetime-local`, in the viewer's time zone. */
function fieldTime(date) {
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Time fields arrive in UTC, are edited in the viewer's time zone, and are submitted in UTC. */
function zoneFields(root) {
  for (const field of root.querySelectorAll("input[data-utc]")) {
    field.removeAttribute("data-utc");
    field.dataset.zoned = "";
    if (field.value !== "") field.value = fieldTime(new Date(`${field.value}Z`));
    for (const label of field.labels) label.textContent = label.textContent.replace("UTC", zone);
  }
}
document.addEventListener("formdata", (event) => {
  for (const field of event.target.querySelectorAll("input[data-zoned]")) {
    const time = new Date(field.value);
    if (!Number.isNaN(time.getTime())) event.formData.set(field.name, time.toISOString().slice(0, 16));
  }
});

// A day that names the one in a time field follows it.
document.addEventListener("input", ({ target }) => {
  const time = new Date(target.value);
  if (target.dataset.zoned === undefined || Number.isNaN(time.getTime())) return;
  for (const element of document.querySelectorAll(`time[data-follows="${target.name}"]`))
    element.textContent = localDay.format(time);
});

/** Reveals what only works with a script. */
function showButtons(root) {
  for (const element of root.querySelectorAll("[data-copy], [data-keyboard-help]")) element.hidden = false;
}

/** Loads what a frame shows as soon as the frame is there. */
function fillFrames() {
  for (const button of document.querySelectorAll("[data-into-frame]:not([hidden])")) {
    button.hidden = true;
    button.form.requestSubmit(button);
  }
}

/** Prepares new content, loaded with the page or later. */
function prepare(root) {
  showLocalTimes(root);
  zoneFields(root);
  showButtons(root);
  fillFrames();
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = label;
  }, 1500);
}

// Whose mail this page shows. Each request of a script says so, because the session may show another's by now.
const shown = document.querySelector("[data-shown]")?.dataset.shown;

/** Shows a confirmation page as a dialog above the current page. */
async function openDialog(link) {
  const response = await fetch(link.href, { headers: { "HX-Request": "true", "Postledger-Shown": shown } });
  if (leaveToOther(response)) return;
  if (!response.ok) {
    location.assign(link.href);
    return;
  }
  const dialog = document.querySelector("#confirm");
  dialog.innerHTML = await response.text();
  prepare(dialog);
  dialog.showModal();
}

// Remembers the user's place in a list, for coming back.
const rowKey = () => `row of ${location.pathname}${location.search}`;
const rows = () => [...document.querySelectorAll("a[data-row]")];

function currentRow() {
  return document.activeElement?.closest?.("tr, li")?.querySelector("a[data-row]") ?? null;
}

function walkRows(step) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(currentRow());
  const next = all[at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step];
  next?.focus();
  next?.closest("tr, li").scrollIntoView({ block: "nearest" });
}

function rememberRow(link) {
  sessionStorage.setItem(rowKey(), link.dataset.row);
}

function returnToRow() {
  const id = sessionStorage.getItem(rowKey());
  if (id === null) return;
  sessionStorage.removeItem(rowKey());
  rows()
    .find((link) => link.dataset.row === id)
    ?.focus();
}

/** Back to the list as it was: with its filters, its page and its row. */
function goBack() {
  const link = document.querySelector("a[data-back]");
  if (link === null) return false;
  const from = document.referrer === "" ? null : new URL(document.referrer);
  if (from?.pathname === new URL(link.href).pathname && history.length > 1) history.back();
  else location.assign(link.href);
  return true;
}

function isTyping(target) {
  return target.closest?.("input:not([type=range]), textarea, select, [contenteditable]") != null;
}

function search() {
  const box = document.querySelector("[data-search]");
  box?.focus();
  box?.select();
  return box !== null;
}

const KEYS = {
  j: () => walkRows(1),
  k: () => walkRows(-1),
  "/": search,
  "?": () => document.querySelector("#keyboard-help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    // Esc closes a dialog by itself, and leaves a text field first.
    if (document.querySelector("dialog[open]")) return;
    if (isTyping(event.target)) event.target.blur();
    else goBack();
    return;
  }
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act === undefined || act() === false) return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const target = event.target.closest("a, button");
  if (target === null) return;
  if (target.matches("a[data-row]")) rememberRow(target);
  if (target.matches("[data-copy]")) void copy(target);
  if (target.matches("[data-reload]")) location.reload();
  if (target.matches("[data-keyboard-help]")) document.querySelector("#keyboard-help").showModal();
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (target.matches("a[data-dialog]") && isPlain) {
    event.preventDefault();
    void openDialog(target);
  }
  const dialog = target.closest("dialog");
  if (target.matches("[data-close]") && dialog !== null) {
    event.preventDefault();
    dialog.close();
  }
});

// Submits a form once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  const form = event.target;
  // A form that targets a frame stays usable.
  if (!form.matches("[data-once]") || event.submitter?.formTarget) return;
  if (form.dataset.sent === "true") event.preventDefault();
  form.dataset.sent = "true";
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) form.removeAttribute("data-sent");
  returnToRow();
});

// A page whose session has ended, or shows other mail by now, says so and stops polling; typed input stays visible.
let end = null;
function endPage(notice, why) {
  end = why;
  document.querySelector(notice).hidden = false;
  showLive(false);
}
const endSession = () => endPage("#session-ended", "session ended");

/** Whether a request was refused because its session shows other mail than this page does. */
function leaveToOther({ headers }) {
  const now = headers.get("Postledger-Shown-Now");
  if (now === null) return false;
  document.querySelector("[data-shown-now]").textContent = decodeURIComponent(now);
  endPage("#other-workspace", "out of date");
  return true;
}

// Shows whether the page is live. A broken stream reconnects by itself, and a hidden tab needs none.
function showLive(isLive) {
  const mark = document.querySelector("#live");
  if (mark === null) return;
  mark.hidden = false;
  mark.textContent = isLive ? "live" : (end ?? "paused");
  mark.classList.toggle("on", isLive);
}
document.addEventListener("htmx:sse:after:connection", () => showLive(true));
document.addEventListener("htmx:sse:error", (event) => {
  if (event.detail.status === 401) endSession();
  // The event lacks the headers of the answer, which say why.
  if (event.detail.status === 409) htmx.trigger("#session-ended", "check");
  showLive(false);
});
document.addEventListener("htmx:sse:close", () => showLive(false));
document.addEventListener("htmx:sse:before:connection", (event) => {
  if (end !== null) event.preventDefault();
  if (event.detail.connection.attempt > 0) showLive(false);
});
document.addEventListener("htmx:config:request", (event) => {
  event.detail.ctx.request.headers["Postledger-Shown"] = shown;
});
document.addEventListener("htmx:before:request", (event) => {
  if (end !== null) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) showLive(false);
});

// Parts loaded later, and sessions that have ended meanwhile.
document.addEventListener("htmx:after:swap", (event) => prepare(event.target));
document.addEventListener("htmx:after:request", (event) => {
  const response = event.detail?.ctx?.response;
  if (response === undefined) return;
  if (response.status === 401) endSession();
  else leaveToOther(response);
});

prepare(document);
// Scrolls a sideways navigation to the current page.
for (const nav of document.querySelectorAll(".side nav")) {
  const link = nav.querySelector("[aria-current]");
  if (link !== null)
    nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.clientWidth) / 2;
}
// A touch screen has no hover.
const forUtc = matchMedia("(hover: hover)").matches ? "; point at one for UTC" : "";
for (const element of document.querySelectorAll("[data-time-zone]")) {
  element.textContent = zone === "UTC" ? "Times are in UTC." : `Times are in your zone, ${zone}${forUtc}.`;
}
