export { WorkflowGraph, type WorkflowGraphProps } from "./graph.js";
export type { StepsInside } from "./graph-badges.js";
export type { PlanGraph, PlanNode } from "./layout.js";
export { badgeOf, badgeOfRun, type State, type Step } from "./states.js";
export { durationText, useNow } from "./time.js";
export { RunTimeline, type ChildRun, type RunTimelineProps } from "./timeline.js";
export { useRun, type LiveRun, type StatusQuery } from "./use-run.js";
