// Intl: follows.
