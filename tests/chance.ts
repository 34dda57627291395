import { createHash } from "node:crypto";
import { seeded } from "@stepwise/testing";
import { afterEach, beforeEach } from "vitest";

/*
 * Each test draws the same numbers whenever it runs, whatever ran before it. Else a test whose
 * subject has one chance in 256 fails once in so many runs, and nobody sees why.
 */

const ownRandom = Math.random;

beforeEach(({ task }) => {
  const digest = createHash("sha256").update(`${task.file.name} ${task.fullTestName}`).digest();
  Math.random = seeded(digest.readUInt32LE());
});
afterEach(() => {
  Math.random = ownRandom;
});
