import { expect, test } from "vitest";
import { nodeName, partName } from "../src/page/names.js";

test("a name with a dot or a slash is shown as one name", () => {
  for (const [path, name] of [
    ["charge.compensate", "charge › compensate"],
    ["turns.ask#3/0/answer", "turns › ask#3 › 0 › answer"],
    ['kind."v1.2".ask/"a/b.c"/send', 'kind › "v1.2" › ask › "a/b.c" › send'],
  ] as const)
    expect(nodeName(path)).toBe(name);
  const run = { workflow: "order", within: 'facts."v1.2".text/html' };
  expect(partName(run)).toBe('order › facts › "v1.2" › text/html');
  expect(partName({ workflow: "order" })).toBe("order");
});
