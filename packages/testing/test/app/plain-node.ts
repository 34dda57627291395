// Run as a program by node.test.ts: the counting in a process without vitest.
import { anyApi } from "convex/server";
import { installTimers } from "../../src/index.js";
import { countedApp } from "./index.js";

const tasks = anyApi["tasks"]!;
const timers = installTimers({ now: 1_000_000 });
const { counter, t } = countedApp();
const running = t.action(tasks["busy"]!, { text: "a", forMs: 500 });
await t.mutation(tasks["scheduleAdd"]!, { texts: ["b"], afterMs: 86_400_000 });
const { done, virtualMs, timers: fired } = await counter.drive({ timers });
await running;
const texts = await counter.uncounted(async () => await t.query(tasks["list"]!, {}));
timers.uninstall();
const { rootExecutions, executions, documentsWritten } = counter.totals();

process.stdout.write(
  JSON.stringify({
    texts,
    drive: { done, virtualMs, timers: fired },
    totals: { rootExecutions, executions, documentsWritten },
    startedAt: counter.calls.map(({ startedAt }) => startedAt - 1_000_000),
    clockIsBack: Date.now() > 1_600_000_000_000,
  }),
);
