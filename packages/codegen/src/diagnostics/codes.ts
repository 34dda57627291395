interface Code {
  readonly code: string;
  readonly severity: "error" | "warning";
  readonly title: string;
}

const error = (code: string, title: string): Code => ({ code, severity: "error", title });
const warning = (code: string, title: string): Code => ({ code, severity: "warning", title });

/** Every problem the compiler can report. A code is never used again: a gap is an old one. */
export const codes = {
  notAnIdentifier: error("SW1002", "a name is not an identifier"),
  reservedName: error("SW1004", "a name is reserved"),
  nameTooLong: error("SW1005", "a generated name would be longer than Convex allows"),
  duplicateNode: error("SW1006", "two nodes have the same name"),
  duplicateWorkflow: error("SW1007", "two workflows have the same name"),
  functionCollision: error("SW1008", "two generated functions would have the same name"),
  computedName: error("SW1009", "a name is computed"),
  hiddenGlobal: error("SW1010", "a node's name hides a global that the input uses"),
  hiddenName: error("SW1011", "a node's name hides one around it"),
  unusableRenaming: error("SW1012", "an entry of renamed is wrong"),
  unusableRenamedFrom: error("SW1013", "a renamedFrom is wrong"),

  computedChain: error("SW1101", "the structure of a workflow is computed"),
  notExported: error("SW1102", "a workflow is not exported under one name"),
  noNodes: error("SW1105", "a workflow or a body has no nodes"),
  afterFinalize: error("SW1106", "a node follows finalize, or an end"),
  finalizeInBody: error("SW1109", "a finalize is inside another node"),
  noCases: error("SW1110", "a branch or a race has no cases, or a parallel no branches"),
  misusedDefine: error("SW1114", "defineWorkflow is not called as it is imported"),

  unknownNode: error("SW1201", "an unknown kind of node"),
  unreadableOptions: error("SW1203", "the options of a node cannot be read"),
  oneFunction: error("SW1205", "no action, mutation or query"),
  referenceArgs: error("SW1207", "a function reference without args"),
  optionOrder: error("SW1209", "options are in the wrong order"),
  optionValue: error("SW1211", "an option has an invalid value"),
  noEffect: warning("SW1212", "an option has no effect"),
  missingOption: error("SW1213", "an option is missing"),

  unknownRead: error("SW1301", "a handler reads an unknown name"),
  sensitiveRead: error("SW1302", "a tag or a key reads a sensitive value"),

  unknownChild: error("SW1401", "a child of an unknown workflow"),
  endlessRecursion: warning("SW1402", "a workflow that starts itself in every run"),
  turnsInCircle: warning("SW1403", "workflows with a one start each other"),

  nodeBuiltIn: error("SW1501", "a definition uses a Node module"),
  nodeFile: error("SW1502", 'a definition uses a "use node" file'),
  importCycle: error("SW1503", "circular imports"),
  neededInCycle: warning("SW1504", "a value is needed in a circle of imports"),

  unreadableConfig: error("SW1601", "the config cannot be read"),
  unknownConfig: error("SW1602", "an unknown option of the config"),
  configValue: error("SW1603", "an option of the config has an invalid value"),
  unmounted: warning("SW1604", "the component is not mounted under its name"),

  syntaxError: error("SW1901", "a file does not parse"),
  linkedFolder: warning("SW1902", "a folder of definitions is a link"),
  missingPlan: warning("SW1903", "the last plan is missing"),
  unreadablePlan: error("SW1904", "the last plan cannot be read"),
  misnamedFile: warning("SW1905", "a definition in a file with the wrong name"),
  unreadableFile: error("SW1906", "a file or folder cannot be read"),
} as const;

export type CodeName = keyof typeof codes;
