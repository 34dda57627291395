import { transform } from "esbuild";
import { expect, test } from "vitest";
import { laidOut } from "../../src/emit/code.js";

test.each(['cases["turn left"]', 'cases["200"].n6.cases["turn left"]', "cases.paid"])(
  "a call of a member behind %s is code, however long its path is",
  { tags: ["large"] },
  async (path) => {
    for (let length = 1; length < 90; length++) {
      const called = `nodes.${"n".repeat(length)}.${path}.compensate.args(scope, info)`;
      const code = laidOut(`export const undone: Undone = own.mutation("undone", ${called});`);
      const { code: joined } = await transform(code, { loader: "ts", minifyWhitespace: true });
      const whole = await transform(`export const undone=own.mutation("undone",${called});`, {
        loader: "ts",
        minifyWhitespace: true,
      });
      expect(joined).toBe(whole.code);
    }
  },
);
