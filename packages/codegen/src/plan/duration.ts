export { MAX_DURATION_MS, parseDuration as durationMs } from "@stepwise/workflow/rules";
