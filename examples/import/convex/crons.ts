import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();

crons.daily("import customers", { hourUTC: 3, minuteUTC: 17 }, internal.imports.nightly, {
  source: "crm",
});

export default crons;
