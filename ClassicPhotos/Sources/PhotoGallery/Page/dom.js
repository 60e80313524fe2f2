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

/// Loads a style sheet of this page; resolves when it is in force.
export function loadStyle(address) {
  return new Promise((resolve) => {
    const link = make("link", { rel: "stylesheet", href: address });
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}
