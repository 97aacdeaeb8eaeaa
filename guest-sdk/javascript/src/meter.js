// What is left to the call.

import "#wit/meter";

import { host } from "./host.js";

/** Fuel, about one unit for each instruction; undefined if the call is metered by CPU time. */
export const fuelLeft = () => host().fuelLeft();

/** Milliseconds until the call is stopped. */
export const deadlineLeft = () => host().deadlineLeft();
