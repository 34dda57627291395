import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CLASSES, type DeploymentClass } from "../../src/index.js";

const page = readFileSync(new URL("../../../../docs/deployment-model.md", import.meta.url), "utf8");

/** The cells of a row, behind its title. */
const row = (title: string): string[] =>
  page
    .split("\n")
    .find((line) => line.startsWith(`| ${title} `))!
    .split("|")
    .slice(2, -1)
    .map((cell) => cell.trim().replaceAll(",", ""));

test.each([
  ["Queries at once", "queryPermits", 1],
  ["Mutations at once", "mutationPermits", 1],
  ["V8 and HTTP actions at once", "actionPermits", 1],
  ["Scheduled jobs at once", "scheduledAtOnce", 1],
  ["MiB that mutations may write/s", "bytesPerSecond", 2 ** 20],
] as const)("[B25] [B33] [B47] each class has what the page says: %s", (title, field, unit) => {
  const { s16, s256, d1024 } = CLASSES;
  const said = row(title).slice(0, 3).map(Number);
  expect([s16, s256, d1024].map((of) => of[field] / unit)).toEqual(said);
});

test.each([
  ["A mutation, from the start of its code", "mutationMs"],
  ["A query", "queryMs"],
  ["Each nested call, on top", "nestedCallMs"],
  ["From the validation of a commit to its publishing", "persistMs"],
  ["From what wakes the scheduler to its round", "roundMs"],
  ["Until an action starts", "actionStartMs"],
  ["A call by an action, there and back", "callMs"],
  ["From a crash until all is up again", "restartMs"],
] as const)("each class takes as long as the page says: %s", (title, field) => {
  const said = row(title)[0]!.split(" to ").map(Number);
  for (const of of Object.values<DeploymentClass>(CLASSES))
    expect([of[field]].flat()).toEqual(said);
});
