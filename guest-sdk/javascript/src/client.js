// Questions to the user and the model. Waiting costs no fuel, and it pauses the call's deadline. A client that cannot answer ends
// the tool: nothing behind the question runs.

import "#wit/client";

import { Declined, Dismissed } from "./errors.js";
import { host } from "./host.js";
import * as questions from "./questions.js";

const put = async ({ key, put, read }) => read(await host().ask(key, put));

/** Asks the user to fill in a form, and gives its values. Throws Declined or Dismissed if the user does not. */
export const ask = async (...question) => put(questions.ask(...question));

/** Asks the user for a yes. Anything else is a no, which ends the tool if `orStop`. */
export const confirm = async (...question) => put(questions.confirm(...question));

/**
 * Asks the user to open a page, outside the client and its model. The address begins with `https:`, and its host must be granted.
 * Throws Declined or Dismissed if the user does not agree; what happens on the page is not said.
 */
export const openUrl = async (...question) => put(questions.openUrl(...question));

/** Asks the user to connect an account, one that the operator has set up. Throws Declined or Dismissed if the user does not. */
export const connect = async (...question) => put(questions.connect(...question));

/** Asks the client's model to go on from a message or several. */
export const sample = async (...question) => put(questions.sample(...question));

/** The folders or repositories that the client's user works in. */
export const roots = async (...question) => put(questions.roots(...question));

/** The kinds of questions that the client of this call can answer. Any other throws Unsupported. */
export const supported = () => host().supported();

/**
 * Asks several questions at once. The answers are in their order; if a form or a page was not accepted, it throws Declined or
 * Dismissed. With `settled`, each answer is as in `Promise.allSettled`.
 */
export async function askMany(all, { settled = false } = {}) {
  if (all.length === 0) {
    return [];
  }
  const chosen = all.map(({ key }) => key);
  const answers = await host().askMany(all.map(({ key, put }, at) => [key ?? numbered(at + 1, chosen), put]));
  return all.map(({ read }, at) => {
    try {
      const value = read(answers[at]);
      return settled ? { status: "fulfilled", value } : value;
    } catch (reason) {
      if (settled && (reason instanceof Declined || reason instanceof Dismissed)) {
        return { status: "rejected", reason };
      }
      throw reason;
    }
  });
}

function numbered(at, chosen) {
  let key = `q${at}`;
  while (chosen.includes(key)) {
    key += "_";
  }
  return key;
}
