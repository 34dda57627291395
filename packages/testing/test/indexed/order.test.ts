import { compareValues } from "convex/values";
import { expect, test } from "vitest";
import { compare } from "../../src/indexed/order.js";

const TEXTS = ["", "a", "ab", "b", "é", "\ud7ff", "\ue000", "\uffff", "😀", "a😀", "a\ue000"];

test.each(TEXTS)("the text %j comes before and after others as Convex orders them", (one) => {
  for (const other of TEXTS)
    expect(Math.sign(compare(one, other))).toBe(Math.sign(compareValues(one, other)));
});
