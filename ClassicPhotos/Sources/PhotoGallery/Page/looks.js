// The look of a photo in the detail view: filters that are applied one after the other.
//
// A look is an array of { name, values }, with a value for each parameter. As text it is what the
// command line accepts: `sepia=intensity:0.8,vignette=amount:0.5,radius:0.7`.

import { getJSON } from "./api.js";
import { make, signButton } from "./dom.js";
import { filterName, filterTip, number, text } from "./strings.js";

const mostFilters = 8;

export const lookText = (look) =>
  look.map(({ name, values }) =>
    `${name}=${Object.entries(values).map(([key, value]) => `${key}:${value}`).join(",")}`)
    .join(",") || "none";

let definitions = null;

/// The filters that the server offers.
export async function loadFilters() {
  definitions ??= await getJSON("/api/filters");
  return definitions;
}

const definition = (name) => definitions.find((filter) => filter.name === name);
const defaults = ({ name, parameters }) =>
  ({ name, values: Object.fromEntries(parameters.map((each) => [each.name, each.default])) });

/// Reads a look from its text, such as the list's own filters, or an address that a person has
/// changed: unknown names are left out, and values are kept within their limits.
export function parseLook(words) {
  const look = [];
  for (const part of words.split(",").map((each) => each.trim()).filter(Boolean)) {
    const [head, rest] = part.split("=");
    if (definition(head)) look.push(defaults(definition(head)));
    const last = look.at(-1);
    if (!last) continue;
    const [value, key] = (rest ?? head).split(":").reverse();
    const { parameters } = definition(last.name);
    const parameter = key ? parameters.find(({ name }) => name === key) : parameters[0];
    if (!parameter || value === "" || !Number.isFinite(Number(value))) continue;
    const { name, minimum, maximum } = parameter;
    last.values[name] = Math.min(maximum, Math.max(minimum, Number(value)));
  }
  return look.slice(0, mostFilters);
}

/// The controls of a look.
export class LookEditor {
  #look = [];
  #list = make("ol", { className: "look" });
  #add = make("select", { label: text("addFilter"), className: "field" });
  #reset = make("button", { type: "button", className: "quiet" }, text("listLook"));
  #changed;

  /// - changed: called with the new look after each change.
  constructor(changed) {
    this.#changed = changed;
    this.element = make("div", {},
      this.#list, make("div", { className: "line" }, this.#add, this.#reset));
    this.#add.addEventListener("change", () => {
      this.#look = [...this.#look, defaults(definition(this.#add.value))];
      this.#show();
      this.#list.lastElementChild.querySelector("input").focus();
      changed(this.#look);
    });
  }

  /// Offers the filters, and a button that returns to the list's own look.
  offer(filters, ofList) {
    this.#add.replaceChildren(
      make("option", { value: "", disabled: true }, text("addFilter")),
      ...filters.map(({ name, summary }) =>
        make("option", { value: name, title: filterTip(name, summary) }, filterName(name))));
    this.#reset.onclick = () => {
      this.look = structuredClone(ofList);
      this.#changed(this.#look);
    };
    this.#show();
  }

  get look() { return this.#look; }

  set look(look) {
    this.#look = look;
    this.#show();
  }

  #show() {
    this.#add.selectedIndex = 0;
    this.#add.disabled = this.#look.length >= mostFilters;
    this.#list.replaceChildren(...this.#look.map((filter, index) => this.#item(filter, index)));
  }

  #item(filter, index) {
    const { summary, parameters } = definition(filter.name);
    const name = filterName(filter.name);
    const remove = signButton("icon", "×", text("removeFilter", { name }), () => {
      this.#look = this.#look.filter((_, other) => other !== index);
      this.#show();
      this.#add.focus();
      this.#changed(this.#look);
    });
    const title = make("strong", { title: filterTip(filter.name, summary) }, name);
    return make("li", {},
      make("div", { className: "line" }, title, remove),
      ...parameters.map((parameter) => this.#slider(filter, parameter, name)));
  }

  #slider(filter, { name, minimum, maximum, unit }, owner) {
    const step = maximum - minimum <= 2 ? 0.01 : 0.1;
    const output = make("output", {}, number(filter.values[name]));
    const input = make("input", {
      type: "range", min: minimum, max: maximum, step,
      label: `${owner}: ${filterName(name)}`, title: filterTip("", unit),
      input: () => {
        filter.values[name] = Number(input.value);
        output.textContent = number(filter.values[name]);
        this.#changed(this.#look);
      },
    });
    // After the limits, or the browser would round the value to the default limits.
    input.value = filter.values[name];
    return make("label", { className: "slider" }, make("span", {}, filterName(name)), input, output);
  }
}
