#!/usr/bin/env node
// The type checker of Vitest, which hands on no options: in one thread, as in `types` of each
// package. TypeScript's four checkers each make the types that they share, which takes three times
// the processor time, and other work waits for the processor.
process.argv.push("--singleThreaded");
await import("../node_modules/typescript/bin/tsc");
