// Questions that have not been asked yet, for `askMany`. Each has the name and the arguments of the function that asks it alone.

import { ClientError, Declined, Dismissed, InvalidArguments } from "./errors.js";
import { request } from "./sampling.js";
import { formSchema, readFields } from "./schema.js";

const isNo = (answer) => answer instanceof Declined || answer instanceof Dismissed;

function accepted(answer) {
  if (isNo(answer)) {
    throw answer;
  }
  return answer;
}

export function ask(message, fields, { key } = {}) {
  const read = (answer) => {
    const values = JSON.parse(accepted(answer));
    try {
      return readFields(fields, values);
    } catch (error) {
      if (error instanceof InvalidArguments) {
        throw new ClientError("unexpected-answer", `the client's answer is not what was expected: ${error.message}`);
      }
      throw error;
    }
  };
  return { key, put: { type: "form", message, schema: JSON.stringify(formSchema(fields)) }, read };
}

// Clients show a form without fields as two buttons: to accept it is to say yes.
const CONFIRM = JSON.stringify({ type: "object", properties: {} });

export function confirm(message, { key, orStop = false } = {}) {
  const read = (answer) => {
    const isYes = !isNo(answer);
    if (orStop && !isYes) {
      throw new Declined("the user did not confirm");
    }
    return isYes;
  };
  return { key, put: { type: "form", message, schema: CONFIRM }, read };
}

export const openUrl = (message, address, { key } = {}) => ({ key, put: { type: "url", message, address }, read: accepted });

export const connect = (message, connection, { key } = {}) => ({ key, put: { type: "url", message, connection }, read: accepted });

export const sample = (messages, { key, ...options } = {}) => ({
  key,
  put: { type: "sample", ...request(messages, options) },
  read: (answer) => answer,
});

export const roots = ({ key } = {}) => ({ key, put: { type: "roots" }, read: (answer) => answer });
