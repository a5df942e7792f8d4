// Find a sample by its name.

import { h, fill, uniqueId } from "../view/dom.js";
import { clipped } from "../view/format.js";

export function searchBox(app) {
  if (!app.canSearch) return h("span", { class: "hint" }, "too many samples to search");
  const list = h("ul", { class: "found", role: "listbox", id: uniqueId("found"), hidden: true });
  let found = [];
  let active = -1;
  const input = h("input", {
    type: "search",
    placeholder: "Find a sample",
    "aria-label": "Find a sample by its name",
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": list.id,
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => look(),
    onkeydown: (event) => key(event),
    onblur: () => setTimeout(close, 150),
  });

  function look() {
    const text = input.value.trim();
    found = text ? app.rowsNamed(text) : [];
    active = found.length ? 0 : -1;
    draw(text);
  }

  function draw(text = input.value.trim()) {
    const open = text !== "";
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    fill(
      list,
      found.map((entry, k) =>
        h(
          "li",
          {
            role: "option",
            id: `${list.id}-${k}`,
            "aria-selected": String(k === active),
            title: entry.id,
            onmousedown: (event) => {
              event.preventDefault();
              take(entry);
            },
          },
          clipped(entry.id, 60),
        ),
      ),
      open && !found.length
        ? h("li", { class: "hint", role: "option", "aria-disabled": "true" }, "no such sample")
        : null,
    );
    if (active >= 0) input.setAttribute("aria-activedescendant", `${list.id}-${active}`);
    else input.removeAttribute("aria-activedescendant");
  }

  function key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (found.length) active = (active + step + found.length) % found.length;
      draw();
    } else if (event.key === "Enter" && active >= 0) {
      take(found[active]);
    } else if (event.key === "Escape") {
      input.value = "";
      close();
    } else {
      return;
    }
    event.preventDefault();
  }

  function take(entry) {
    input.value = entry.id;
    close();
    app.find(entry.row, entry.id);
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }

  return h("div", { class: "search" }, input, list);
}
