// Without an assembly file, Go refuses functions without a body.
