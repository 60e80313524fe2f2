// Making elements in code, for the parts of the page that are loaded on demand.

/// Makes an element. Attributes that are functions are listeners; `label` is the accessible name.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "label") element.setAttribute("aria-label", value);
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/// Makes a button with words.
export const button = (className, words, click) =>
  make("button", { type: "button", className, click }, words);

/// Makes a button with a sign, and with words as its accessible name and its tool tip.
export const signButton = (className, sign, words, click) =>
  make("button", { type: "button", className, label: words, title: words, click }, sign);

/// Loads a style sheet of this page; resolves when it is in force.
export function loadStyle(address) {
  return new Promise((resolve) => {
    const link = make("link", { rel: "stylesheet", href: address });
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}

/// Whether keys without modifiers belong to an element, because it takes text or a choice.
export const takesText = (element) =>
  element.closest("input:not([type=range], [type=checkbox]), select, textarea") !== null;
