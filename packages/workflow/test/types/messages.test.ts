import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { compile, messagesByLine } from "./compiler.js";

const MARK = "// @ts-expect-error ";

const text = await readFile(new URL("misuse.test-d.ts", import.meta.url), "utf8");
const expected = text.split("\n").flatMap((line, index) => {
  const at = line.indexOf(MARK);
  return at < 0 ? [] : [{ line: index + 1, message: line.slice(at + MARK.length) }];
});

describe("what the compiler says of a misuse", () => {
  let messages: Map<number, string>;
  beforeAll(async () => {
    messages = messagesByLine(await compile("messages", text.replaceAll(MARK, "// ")));
  });

  test.each(expected)("line $line: $message", ({ line, message }) => {
    expect(messages.get(line) ?? "nothing").toContain(message);
  });

  test("[S245] is said nowhere else", () => {
    const lines = new Set(expected.map(({ line }) => line));
    expect([...messages.keys()].filter((line) => line >= 0 && !lines.has(line))).toEqual([]);
  });
});
