import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";
import { formatted } from "../prettier.js";

/** A small generator of random numbers, so that a failure can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

const words = [
  "a",
  "id",
  "title",
  "storageId",
  "maxAttempts",
  "somethingRatherLongToName",
  "x1",
  "Kind",
  "dashed-key",
];

function schema(random: (below: number) => number, depth: number): string {
  const word = () => words[random(words.length)] ?? "a";
  const name = () => word().replace("-k", "K");
  const methods = [
    "min(1)",
    "optional()",
    "int()",
    'default("some text")',
    "nullable()",
    "max(1_000)",
    "regex(/^[a-z]+$/)",
    'describe("What it is, at some length.")',
    "describe('it says \"no\"')",
    "default([])",
    'min(1, { message: "too short" })',
    "positive().finite()",
  ];
  const chain = (base: string) => {
    let text = base;
    for (let count = random(4); count > 0; count--) text += `.${methods[random(methods.length)]}`;
    return text;
  };
  if (depth === 0)
    return chain(
      ["z.string()", "z.number()", "z.boolean()", "schemas.Address", "shared"][random(5)] ??
        "shared",
    );
  const inner = () => schema(random, depth - 1);
  const many = (count: number, make: () => string) => Array.from({ length: count }, make);
  switch (random(8)) {
    case 0:
    case 1:
    case 2: {
      const properties = many(random(5), () => {
        const key = word();
        return `${key.includes("-") ? JSON.stringify(key) : key}: ${inner()}`;
      });
      const open = random(2) === 0 ? "\n" : " ";
      return chain(`z.object({${open}${properties.join(`,${open}`)}${open}})`);
    }
    case 3:
      return chain(`z.array(${inner()})`);
    case 4:
      return chain(`z.union([${many(1 + random(4), inner).join(", ")}])`);
    case 5:
      return chain(`z.enum([${many(1 + random(9), () => JSON.stringify(name())).join(", ")}])`);
    case 6:
      return chain(
        `z.discriminatedUnion("kind", [${many(1 + random(3), () => `z.object({ kind: z.literal(${JSON.stringify(name())}), ${name()}: ${inner()} })`).join(", ")}])`,
      );
    default:
      return chain(`z.record(${inner()}, ${inner()})`);
  }
}

test("a copied input is laid out as Prettier would", async () => {
  const rounds = Number(process.env["FUZZ_ROUNDS"] ?? 100);
  for (let seed = 1; seed <= rounds; seed++) {
    const text = schema(randomFrom(seed * 7919), 1 + (seed % 3));
    const source = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { schemas, shared } from "./schemas";
export const example = defineWorkflow({ input: ${text} }).step("only", { query: () => null });
`;
    const { files, diagnostics } = await compileSources([
      { file: "example.workflow.ts", text: source },
    ]);
    expect(diagnostics).toEqual([]);
    const emitted = files.find(({ path }) => path.endsWith("/example.ts"))?.text ?? "";
    expect(emitted, `seed ${seed}: ${text}`).toBe(await formatted(emitted));
  }
}, 60_000);
