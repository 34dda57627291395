export { parseDuration as durationMs } from "@stepwise/workflow/rules";
