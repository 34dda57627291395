import { expect, test } from "vitest";
import { presentName } from "../../../workflow/src/renaming.js";
import { seeded } from "../../../workpool/test/seeded.js";
import { renamedTo } from "../../src/plan/renaming.js";

test("[S116] the compiler and the run time take a name for the same one, however names were changed", () => {
  const random = seeded(1);
  const names = ["a", "b", "c", "a.x", "b.x", "a.x.y"];
  const some = () => names[Math.floor(random() * names.length)]!;
  let renamings = 0;
  for (let round = 0; round < 2_000; round++) {
    const entries = Array.from({ length: 1 + Math.floor(random() * 4) }, () => [some(), some()]);
    const renamed = Object.fromEntries(entries) as Record<string, string>;
    for (const stage of [...names, "a.x.y.z", "d"]) {
      const name = presentName(renamed, stage);
      expect(renamedTo(stage, renamed)).toBe(name);
      if (name !== undefined) renamings++;
    }
  }
  expect(renamings).toBeGreaterThan(1_000);
});
