export {
  compile,
  compileSources,
  writeGenerated,
  WriteRefused,
  type CompileOptions,
  type CompileResult,
  type GeneratedFile,
  type Written,
} from "./compile.js";
export type { Diagnostic, Place } from "./diagnostics/diagnostic.js";
export { formatDiagnostic, type FormatOptions } from "./diagnostics/format.js";
export type { SourceText } from "./discover/discover.js";
export type { NodePlan, ProjectPlan, StagePlan, WorkflowPlan, WrittenPlan } from "./plan/schema.js";
