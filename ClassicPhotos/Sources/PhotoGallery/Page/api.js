// Requests to the server, and errors for its refusals.

import { failureText } from "./strings.js";

/// A response other than success, with the server's message.
export class Refused extends Error {
  constructor(status, text) {
    super(text || `The server answered ${status}.`);
    this.status = status;
  }

  /// The server has forgotten this page, or never knew it.
  get pageIsGone() { return this.status === 410 || this.status === 404; }
}

export async function getJSON(path, signal) {
  return (await checked(await fetch(path, { cache: "no-store", signal }))).json();
}

export async function postJSON(path, body) {
  return checked(await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }));
}

async function checked(response) {
  if (response.ok) return response;
  throw new Refused(response.status, words(await response.text()).slice(0, 300));
}

// The text itself, or the message in an error object, depending on the response.
function words(text) {
  try {
    const value = JSON.parse(text);
    const message = value?.error?.message ?? value?.message ?? value?.error;
    return typeof message === "string" ? failureText(message, value.error.failure) : "";
  } catch {
    return text.trim().startsWith("<") ? "" : text.trim();
  }
}
