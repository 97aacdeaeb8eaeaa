// What goes wrong.

/** The tool failed. The message is a sentence for the model. */
export class ToolError extends Error {}
/** The arguments match the schema but are not valid. */
export class InvalidArguments extends ToolError {}
/** The call was cancelled. Clean up and let it pass. */
export class Cancelled extends ToolError {
  constructor();
}
/** Something was not granted, and was not done. */
export class Denied extends ToolError {
  constructor(capability: string, target: string, remedy?: string);
  readonly capability: string;
  readonly target: string;
  readonly remedy: string;
}
/** A limit of the call was reached. */
export class Exhausted extends ToolError {
  constructor(budget: string, limit: number);
  readonly budget: string;
  readonly limit: number;
}
/** The tool needs something that this host or client does not offer. */
export class Unsupported extends ToolError {
  readonly what: string;
}
/** There is no such resource. */
export class NotFound extends ToolError {
  constructor();
}
/** The user said no. */
export class Declined extends ToolError {}
/** The user closed the question without an answer. The call goes on. */
export class Dismissed extends ToolError {
  constructor();
}
declare class Kinded<Kind extends string> extends ToolError {
  constructor(kind: Kind, message: string);
  readonly kind: Kind;
}
export class ClientError extends Kinded<"invalid" | "declined" | "not-answered" | "timeout" | "failed" | "unexpected-answer"> {}
export class AgentError extends Kinded<
  "unknown-tool" | "declined" | "cycle" | "timeout" | "invalid-arguments" | "tool-error" | "failed"
> {}
export class StateError extends Kinded<"invalid" | "conflict" | "failed"> {}
export class HttpError extends Kinded<"invalid" | "timeout" | "exhausted" | "failed" | "status" | "unexpected-response"> {}
export class PublishError extends Kinded<"invalid" | "not-found"> {}
export class EventError extends Kinded<"invalid"> {}
export class AccountError extends Kinded<"not-connected" | "invalid" | "timeout" | "failed"> {}
/** The kind is that of `wasi:filesystem`, such as `no-entry`. */
export class FileError extends Kinded<string> {}
export class CheckpointError extends ToolError {}
export class OutputError extends ToolError {}
