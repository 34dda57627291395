/** @module-tag large */
import { CLASSES, Deployment, textOf } from "@stepwise/testing";
import { expect, test } from "vitest";
import { type Happened, parts, type Work } from "./pool-app.js";
import { isUnread } from "./unread.js";

const MS = 500;
const TIMES = 40;

test("[S190] a work that joins a line as the last one before it ends goes on", async () => {
  const faults = { forgets: isUnread };
  const deployment = await Deployment.of(parts, { class: CLASSES.s256, seed: 1, faults });
  const one = { kind: "action", fails: 0, maxAttempts: 1, ms: MS } as const;
  const limits = { scarce: true } as const;
  const enqueue = (...labels: string[]) =>
    deployment.mutation("works:enqueue", {
      works: labels.map((label): Work => ({ ...one, limits, label })),
    });
  let ends = 0;
  deployment.onHappening((event) => {
    if (event.what !== "ended" || textOf(event.path) !== "works:act") return;
    // While the end of the one that has waited is reported, at another moment of that each time.
    if (++ends % 3 === 2) deployment.at(ends % 20, () => enqueue(`${ends} joins`));
  });
  for (let n = 0; n < TIMES; n++)
    deployment.at(5_000 * n, () => enqueue(`${n} runs`, `${n} waits`));
  await deployment.drive();
  const happened = deployment.rows<Happened>("", "happened");
  expect(happened.filter(({ what }) => what === "success")).toHaveLength(3 * TIMES);
  const left = ["limited", "lines", "permits"].flatMap((table) =>
    deployment.rows("workpool", table),
  );
  expect(left).toEqual([]);
});
