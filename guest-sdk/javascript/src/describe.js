// What a plugin offers, for `portcullis build`, which asks before it makes a component.

import { PLUGIN } from "./plugin.js";

export const offers = () => {
  const { tools, resources, templates, prompts } = PLUGIN;
  const all = { tools: tools.size, resources: resources.size + templates.size, prompts: prompts.size };
  return Object.keys(all).filter((name) => all[name] > 0);
};
