// Tools whose schemas are made of types, when the plugin is built.

import type { kind, ToolResult } from "./content.js";
import type { Context, MaybePromise, Returned, Tool, ToolAbout } from "./plugin.js";

interface Integer {
  readonly [kind]?: "integer";
}
/** A whole number. To the compiler it is a `number`; a call with any other is refused. */
export type integer = number & Integer;

export interface TypedToolOffer<Arguments extends object, Result> extends ToolAbout {
  run(args: Arguments, context: Context): MaybePromise<Result | ToolResult>;
}
/**
 * A tool whose schemas are those of its types: `typedTool<Arguments>({ ... })`, or `typedTool<Arguments, Result>({ ... })` for an
 * object with a schema of its own. Comments of members are descriptions, with tags such as `@minimum 1`.
 */
export function typedTool<Arguments extends object = {}, Result extends Returned = Returned>(
  offer: TypedToolOffer<Arguments, Result>,
): Tool;
