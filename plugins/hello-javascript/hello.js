// The tools `greet` and `fetch`, written straight on the WIT: componentize-qjs binds world.wit to this module, which is
// wit/v0.1 and `wasi:http`.
//
// WIT names become JavaScript's: `list-tools` is `listTools` and the interface `tools` one exported object, records are
// objects with camelCase keys, a variant is `{ tag, val }`, an enum its case's name, an option the value or null, and
// an error is thrown as the bare value of the WIT's error type, and one of an import is caught as the `payload` of an Error.
import log from "portcullis:plugin/log@0.1.0";
import output from "portcullis:plugin/output@0.1.0";
import outgoingHandler from "wasi:http/outgoing-handler@0.2.12";
import http from "wasi:http/types@0.2.12";

// What a call reads of an answer at most.
const MOST = 64 << 10;

const schema = (name, description) =>
  JSON.stringify({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { [name]: { type: "string", description } },
    required: [name],
    additionalProperties: false,
  });

const text = (words) => ({ data: { tag: "text", val: words }, annotations: null });

// Where it may go, how long it may take and how much may come is the operator's grant: what is refused, or fails, is an
// error code of wasi:http.
function fetched(url) {
  const [, authority, path] = /^https:\/\/([^/?]+)(.*)$/.exec(url) ?? ["", "", ""];
  const request = new http.OutgoingRequest(new http.Fields());
  request.setScheme({ tag: "HTTPS" });
  request.setAuthority(authority);
  request.setPathWithQuery(path || "/");
  let answer;
  try {
    answer = sent(request);
  } catch (error) {
    return { content: [text(`no answer: ${(error.payload ?? error).tag ?? error}`)], structured: null, isError: true };
  }
  return { content: [text(`${answer.status()} ${read(answer.consume())}`)], structured: null, isError: false };
}

function sent(request) {
  const future = outgoingHandler.handle(request, null);
  const ready = future.subscribe();
  ready.block();
  // A resource must be gone before the one that it was made from.
  ready[Symbol.dispose]();
  const { val: answer } = future.get();
  if (answer.tag === "err") {
    throw answer.val;
  }
  return answer.val;
}

function read(body) {
  const stream = body.stream();
  let found = "";
  try {
    while (found.length < MOST) {
      // A character for each byte: there is no decoder here.
      found += String.fromCharCode(...stream.blockingRead(4096));
    }
  } catch (error) {
    if (error.payload?.tag !== "closed") {
      throw { tag: "failed", val: `the answer broke off: ${error.payload?.tag ?? error}` };
    }
  } finally {
    stream[Symbol.dispose]();
  }
  return found;
}

export const tools = {
  listTools() {
    return [
      {
        name: "greet",
        title: "Greet",
        description: "Says hello, from JavaScript.",
        inputSchema: schema("name", "Whom to greet."),
        outputSchema: null,
        annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
        execution: "inline",
        icons: [],
      },
      {
        name: "fetch",
        title: "Fetch",
        description: "Fetches a page over https, from JavaScript.",
        inputSchema: schema("url", "Such as https://example.com/page."),
        outputSchema: null,
        annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
        execution: "inline",
        icons: [],
      },
    ];
  },

  callTool(ctx, name, args) {
    if (name === "fetch") {
      return fetched(JSON.parse(args).url);
    }
    if (name !== "greet") {
      throw { tag: "invalid-arguments", val: `there is no tool named ${name}; this plugin has greet and fetch` };
    }
    const whom = JSON.parse(args).name;
    log.write("info", `greeting ${whom}`);
    try {
      output.emit([text(`looking for ${whom} ...`)]);
    } catch {
      // A chunk only shows work in progress; the result is complete without it.
    }
    return { content: [text(`Hello, ${whom}!`)], structured: null, isError: false };
  },
};
