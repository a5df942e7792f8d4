// Elements without markup: text from the data can only ever become text.

/**
 * An element with attributes, listeners (onclick: …) and children (strings become text).
 * @param {string} tag
 * @param {Object} [attributes]
 * @param {...(Node|string|number|null)} children
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children
      .flat()
      .filter((child) => child !== null)
      .map(asNode),
  );
  return element;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** Replace what an element holds; the focus stays with the control of the same data-key. */
export function fill(element, ...children) {
  const active = document.activeElement;
  const key = element.contains(active) ? active.dataset.key : undefined;
  element.replaceChildren(
    ...children
      .flat()
      .filter((child) => child !== null)
      .map(asNode),
  );
  if (key !== undefined) {
    const same = [...element.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key);
    same?.focus({ preventScroll: true });
  }
  return element;
}

/** A small square of a colour, beside its name; the colour is set as a property, not as markup. */
export function swatch(color, shape = 0) {
  const element = h("span", { class: shape ? "swatch triangle" : "swatch", "aria-hidden": "true" });
  element.style.backgroundColor = color;
  return element;
}

let counter = 0;

/** A name for an element that another one refers to. */
export function uniqueId(stem) {
  counter += 1;
  return `${stem}-${counter}`;
}

/** A label and its control, joined for screen readers. */
export function field(text, control) {
  control.id ||= uniqueId("field");
  return h("span", { class: "field" }, h("label", { for: control.id }, text), control);
}

/**
 * A select with groups: [{label, options: [{value, text, title}]}]; groups without a label are flat.
 * The key lets the focus stay when it is drawn again.
 */
export function select(groups, chosen, onchange, key = null) {
  // A name that is too long for the box is read in full when the pointer rests on it.
  const tell = () => (element.title = element.selectedOptions[0]?.title ?? "");
  const choose = () => {
    tell();
    onchange(element.value);
  };
  const element = h("select", { "data-key": key, onchange: choose });
  for (const group of groups) {
    if (!group.options.length) continue;
    const options = group.options.map((o) =>
      h("option", { value: o.value, title: o.title ?? o.text }, o.text),
    );
    if (group.label) {
      element.append(h("optgroup", { label: group.label }, ...options));
    } else {
      element.append(...options);
    }
  }
  if (chosen !== null) element.value = chosen;
  tell();
  return element;
}

/** Choose an option of a select without telling its listener. */
export function setChosen(control, value) {
  control.value = value;
  control.title = control.selectedOptions[0]?.title ?? "";
}

/** Give a file to the user. */
export function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // Chromium reads the blob after the click has returned.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
