// Variables of the environment. The manifest requests them, `"env": ["TZ"]`, and the operator grants them.

import "#wit/variables";

import { host } from "./host.js";

/** A variable; undefined if there is none, or it was not granted. */
export const get = (name) => host().variables().find(([known]) => known === name)?.[1];
