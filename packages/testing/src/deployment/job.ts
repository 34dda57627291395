import type { StoredTable } from "./store.js";

/** Where a function is. */
export interface FunctionPath {
  readonly component: string;
  /** `module:export`. */
  readonly name: string;
}

/** The path `component/module:export`; without the component for the app. */
export function textOf({ component, name }: FunctionPath): string {
  return component === "" ? name : `${component}/${name}`;
}

/** A scheduled function: what the deployment knows of it beside its row. */
export interface Job {
  readonly id: string;
  readonly table: StoredTable;
  readonly target: FunctionPath;
  /** The arguments, as JSON. */
  readonly args: string;
  /** In ms by the deployment's clock. */
  readonly dueAt: number;
  /** [38] How often it was put off by the system. */
  readonly systemErrors: number;
}
