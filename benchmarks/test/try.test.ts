import { test } from "vitest";
import { LIMITED, measureLimits } from "../src/load/limited.js";
test("try", async () => {
  const { LOADS } = await import("../src/load/loads.js");
  void LOADS;
  for (const name of (process.env["SCENES"] ?? "fair").split(","))
    for (const seed of [1, 2]) {
      const m = await measureLimits(LIMITED[name]!, seed, ["@convex-dev/component-source"]);
      console.log(name, seed, JSON.stringify(m));
    }
});
