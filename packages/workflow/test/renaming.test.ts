import { describe, expect, test } from "vitest";
import { formerNames, presentName } from "../src/renaming.js";

type Renamed = Record<string, string>;

describe("[S116] what a stage is called now", () => {
  test.each<[what: string, renamed: Renamed | undefined, stage: string, now: string | undefined]>([
    ["nothing was renamed", undefined, "a", undefined],
    ["another was", { a: "b" }, "ab", undefined],
    ["its node was", { a: "b" }, "a.finalize", "b.finalize"],
    ["twice, in one entry", { a: "c", b: "c" }, "a", "c"],
    ["twice, in two entries", { a: "b", b: "c" }, "a.x", "c.x"],
    ["in two entries, the later one first", { b: "c", a: "b" }, "a", "c"],
    ["the inner node, and that around it", { "a.x": "b.y", a: "b" }, "a.x", "b.y"],
    ["that around it, then the inner node", { a: "b", "b.x": "b.y" }, "a.x", "b.y"],
    ["two have changed names", { a: "b", b: "a" }, "a", "b"],
    ["three have", { a: "b", b: "c", c: "a" }, "b", "c"],
    ["into a node of its own name", { a: "a.b" }, "a", "a.b"],
    ["as itself", { a: "a" }, "a", "a"],
  ])("%s", (_what, renamed, stage, now) => {
    expect(presentName(renamed, stage)).toBe(now);
  });
});

describe("[S115] what a stage was called", () => {
  test.each<[what: string, renamed: Renamed | undefined, stage: string, names: string[]]>([
    ["nothing was renamed", undefined, "a", []],
    ["another was", { a: "b" }, "bc", []],
    ["its node was", { a: "b" }, "b.finalize", ["a.finalize"]],
    ["twice: the name written last first", { a: "c", b: "c" }, "c", ["b", "a"]],
    ["in two entries: the newer name first", { a: "b", b: "c" }, "c.x", ["b.x", "a.x"]],
    ["that around it twice", { a: "c", b: "c" }, "c.x.y", ["b.x.y", "a.x.y"]],
    [
      "the inner node, then that around it: the whole name first",
      { "a.x": "b.y", a: "b" },
      "b.y",
      ["a.x", "a.y"],
    ],
    ["that around it, then the inner node", { a: "b", "b.x": "b.y" }, "b.y", ["b.x", "a.y", "a.x"]],
    ["another node has its name in there", { "a.x": "b.y", a: "b" }, "b.x", []],
    ["two have changed names", { a: "b", b: "a" }, "a", ["b"]],
    ["three have", { a: "b", b: "c", c: "a" }, "a", ["c"]],
    ["out of a node of its name", { "a.b": "a" }, "a", ["a.b"]],
    ["as itself", { a: "a" }, "a", []],
  ])("%s", (_what, renamed, stage, names) => {
    expect(formerNames(renamed, stage)).toEqual(names);
  });
});
