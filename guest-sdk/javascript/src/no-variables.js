// For a plugin whose manifest requests no `env`: there are no variables.

export const variables = { variables: () => [] };
