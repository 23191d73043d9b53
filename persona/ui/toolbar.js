// The row of small buttons under a turn. `data` says, as JSON, which there are and how they look; a click tells Python which.
const ICONS = {
  previous: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
  copy: "M9 9h10v10H9z M5 15V5h10",
  copied: "M5 13l4 4 10-11",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  again: "M19 12a7 7 0 1 1-2-5 M19 4v4h-4",
  reply: "M9 8l-5 5 5 5 M4 13h9a6 6 0 0 1 6 6v1",
  good: "M8 11l3-7c2 0 3 1 2.5 3L13 9h6l-1.5 9H8z M4 11h4v7H4z",
  bad: "M16 13l-3 7c-2 0-3-1-2.5-3L11 15H5l1.5-9H16z M20 13h-4V6h4z",
};

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

function button(name, label) {
  const made = document.createElement("button");
  made.type = "button";
  made.dataset.name = name;
  made.title = label;
  made.setAttribute("aria-label", label);
  made.append(icon(name));
  return made;
}

async function copy(text, at) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return; // no permission: nothing was copied, and the icon does not say so
  }
  at.replaceChildren(icon("copied"));
  setTimeout(() => at.replaceChildren(icon("copy")), 1500);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const bar = parentElement.querySelector(".bar");
  const { actions, text, place } = JSON.parse(data);
  const parts = actions.map(({ name, label, pressed, disabled }) => {
    const made = button(name, label);
    made.disabled = Boolean(disabled);
    if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
    made.onclick = () => (name === "copy" ? copy(text, made) : setTriggerValue("action", name));
    return made;
  });
  if (place) {
    const shown = document.createElement("span");
    shown.textContent = place;
    parts.splice(1, 0, shown);
  }
  const focused = bar.querySelector(":focus")?.dataset.name;
  bar.replaceChildren(...parts);
  if (focused) bar.querySelector(`[data-name="${focused}"]`)?.focus(); // who works by keyboard goes on from there
}
