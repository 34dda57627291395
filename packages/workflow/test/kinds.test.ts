import { expect, test } from "vitest";
import { stepKindNames } from "../src/component/core/kinds.js";

const sources = import.meta.glob<string>("../src/component/**/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});

test("the component asks its table what holds for a kind of record, and compares kinds nowhere else", () => {
  // What comes next has kinds of its own, some of the same names.
  const compares = new RegExp(`(?<!next\\.)\\bkind [!=]== "(${stepKindNames.join("|")})"`);
  const found = Object.keys(sources).filter((path) => compares.test(sources[path] ?? ""));
  expect(found).toEqual(["../src/component/core/kinds.ts"]);
});
