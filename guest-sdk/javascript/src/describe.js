// What a plugin offers, for `portcullis build`, which asks before it makes a component.

import { PLUGIN } from "./plugin.js";

export { typed } from "./typed.js";

/** The interfaces that its component exports. */
export const offers = () => {
  const { tools, resources, templates, prompts, finder } = PLUGIN;
  const completes = [...templates.values(), ...prompts.values()].some(({ complete = {} }) => Object.values(complete).some(Boolean));
  const all = {
    tools: tools.size > 0,
    resources: resources.size + templates.size > 0,
    prompts: prompts.size > 0,
    completions: completes,
    reconcile: finder !== undefined,
  };
  return Object.keys(all).filter((name) => all[name]);
};
