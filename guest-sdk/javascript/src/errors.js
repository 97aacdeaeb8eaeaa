// Errors. Whatever leaves a tool ends its call; an error that is none of these is a failure with its own message.

/** The tool failed. The message is a sentence for the model. */
export class ToolError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** The arguments match the schema but are not valid. */
export class InvalidArguments extends ToolError {}

/** The call was cancelled. Clean up and let it pass. */
export class Cancelled extends ToolError {
  constructor() {
    super("the call was cancelled");
  }
}

/** Something was not granted, and was not done. */
export class Denied extends ToolError {
  constructor(capability, target, remedy = "") {
    super(`denied: ${capability} does not allow \`${target}\`${remedy && `. ${remedy}`}`);
    Object.assign(this, { capability, target, remedy });
  }
}

const LIMITS = {
  fuel: ["fuel", ""],
  cpu: ["CPU time", " ms"],
  deadline: ["time", " ms"],
  memory: ["memory", " bytes"],
  output: ["output", " bytes"],
  chunks: ["output", " chunks"],
  calls: ["calls of agent tools", " calls"],
  depth: ["nesting of calls", " levels"],
  arguments: ["arguments", " bytes"],
  results: ["results of agent tools", " bytes"],
  waiting: ["waiting for agent tools", " ms"],
  questions: ["questions to the client", " questions"],
  tokens: ["what a model may write", " tokens"],
  stored: ["what may be stored", ""],
};

/** A limit of the call was reached. */
export class Exhausted extends ToolError {
  constructor(budget, limit) {
    const [what, unit] = LIMITS[budget];
    super(`the limit on ${what} is reached: ${limit}${unit}`);
    Object.assign(this, { budget, limit });
  }
}

/** The tool needs something that this host or client does not offer. */
export class Unsupported extends ToolError {
  constructor(what) {
    super(what);
    this.what = what;
  }
}

/** There is no such resource. */
export class NotFound extends ToolError {
  constructor() {
    super("there is no such resource");
  }
}

/** The user said no. */
export class Declined extends ToolError {
  constructor(message = "the user declined") {
    super(message);
  }
}

/** The user closed the question without an answer. The call goes on. */
export class Dismissed extends ToolError {
  constructor() {
    super("the user closed the question without an answer");
  }
}

class Kinded extends ToolError {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/** A question has no answer. */
export class ClientError extends Kinded {}

/** A tool of the agent gave no result. */
export class AgentError extends Kinded {}

/** A value was not stored or read. */
export class StateError extends Kinded {}

/** A file was not read or written. */
export class FileError extends Kinded {}

/** Nothing was published or removed. */
export class PublishError extends Kinded {}

/** An event was not added. */
export class EventError extends Kinded {}

/** A request with a connected account got no answer. */
export class AccountError extends Kinded {}

/** A request got no answer, or not the expected one. */
export class HttpError extends Kinded {}

/** Nothing was saved, or what was saved is not what was expected. */
export class CheckpointError extends ToolError {}

/** A chunk is not valid. */
export class OutputError extends ToolError {}
