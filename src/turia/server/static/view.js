// How one reader sees the captions: size, contrast, theme, layout, full screen. Kept in this browser alone.

import { load, store } from "./storage.js";

// Each kind of page has its own.
const KEY = `turia-view${location.pathname.split("/")[1]}`;
const stage = document.getElementById("stage");
const defaults = { size: 1, theme: "system", contrast: "normal", layout: stage.dataset.layout };

const view = { ...defaults, ...JSON.parse(load(KEY, "localStorage")) };

function apply() {
  const root = document.documentElement;
  root.style.setProperty("--size", view.size);
  root.dataset.theme = view.theme;
  root.dataset.contrast = view.contrast;
  stage.dataset.layout = view.layout;
  store(KEY, JSON.stringify(view), "localStorage");
}

function button(label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

function group(name, ...children) {
  const made = document.createElement("div");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", name);
  made.className = "choices";
  const title = document.createElement("p");
  title.textContent = name;
  made.append(title, ...children);
  return made;
}

function choices(name, key, options) {
  const buttons = options.map(([value, label]) =>
    button(label, () => {
      view[key] = value;
      show();
      apply();
    }),
  );
  const show = () => buttons.forEach((made, i) => made.setAttribute("aria-pressed", String(options[i][0] === view[key])));
  show();
  return group(name, ...buttons);
}

function resize(factor) {
  view.size = Math.min(4, Math.max(0.5, view.size * factor));
  apply();
}

async function fullScreen() {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await document.documentElement.requestFullscreen();
}

const smaller = button("A−", () => resize(1 / 1.15));
const larger = button("A+", () => resize(1.15));
smaller.setAttribute("aria-label", "Smaller letters");
larger.setAttribute("aria-label", "Larger letters");
document.getElementById("view").append(
  group("Size", smaller, larger),
  choices("Show", "layout", [["both", "Both"], ["target", "Translation"], ["source", "Spoken"]]),
  choices("Theme", "theme", [["system", "System"], ["light", "Light"], ["dark", "Dark"]]),
  choices("Contrast", "contrast", [["normal", "Normal"], ["high", "High"]]),
  group("Screen", button("Full screen", () => fullScreen().catch(() => {}))),
);
apply();

// A menu closes when one looks elsewhere.
for (const menu of document.querySelectorAll("details.menu")) {
  document.addEventListener("click", (event) => menu.contains(event.target) || menu.removeAttribute("open"));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.removeAttribute("open");
    menu.querySelector("summary").focus();
  });
}

export function linkTranscripts(session) {
  for (const link of document.querySelectorAll("#save a")) {
    link.href = `/api/sessions/${encodeURIComponent(session)}/transcript.${link.dataset.kind}?side=${link.dataset.side}`;
  }
}

let current = ["idle", ""];
let muted = false;

export function showStatus(state, text) {
  current = [state, text];
  const status = document.getElementById("status");
  const paused = muted && state === "live";
  status.dataset.state = paused ? "idle" : state;
  status.textContent = paused ? "Paused" : text;
}

// An operator may want no words taken for a while; whether that is so now.
export function showMuted(events) {
  for (const event of events) {
    if (event.type === "note" && event.kind === "muted") muted = event.detail === "on";
  }
  showStatus(...current);
  return muted;
}
