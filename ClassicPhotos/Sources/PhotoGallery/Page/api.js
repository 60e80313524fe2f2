// Requests to the server, and errors for its refusals.

import { failureText, text } from "./strings.js";

/// A response other than success, with the server's message.
export class Refused extends Error {
  /// - details: the error object of the answer, which says for example whether a retry may help.
  constructor(status, words, details) {
    super(words || `The server answered ${status}.`);
    this.status = status;
    this.canRetry = details?.retryable ?? true;
  }

  /// The server has forgotten this page, or never knew it.
  get pageIsGone() { return this.status === 410 || this.status === 404; }
}

/// No answer: the server has stopped, or the network is away. The browser's own words for that
/// differ, and are in its language.
export class Unreachable extends Error {
  constructor() { super(text("unreachable")); }
}

export const getJSON = (path, signal) =>
  answered(async () => (await checked(await fetch(path, { cache: "no-store", signal }))).json());

/// Requests something and drops it; throws what the server says against it.
export const check = (path) =>
  answered(async () => { await checked(await fetch(path, { cache: "no-store" })); });

export const postJSON = (path, body) => answered(async () => checked(await fetch(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
})));

async function answered(request) {
  try {
    return await request();
  } catch (error) {
    throw error instanceof TypeError ? new Unreachable() : error;
  }
}

async function checked(response) {
  if (response.ok) return response;
  const words = await response.text();
  const details = errorIn(words);
  throw new Refused(response.status, message(words, details).slice(0, 300), details);
}

function errorIn(words) {
  try {
    return JSON.parse(words)?.error;
  } catch {
    return undefined;
  }
}

// The message in an error object, or the text itself.
function message(words, details) {
  const sentence = details?.message ?? details;
  if (typeof sentence === "string") return failureText(sentence, details.failure);
  return /^\s*[<{]/.test(words) ? "" : words.trim();
}
