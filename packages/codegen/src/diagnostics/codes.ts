const error = "error";

/**
 * Every problem the compiler can report. A code is never reused for another problem: people search for it. SW1202 and SW1204 were once given.
 * SW10xx: names. SW11xx: the shape of a definition. SW12xx: nodes. SW13xx: what handlers read. SW14xx: children. SW15xx: what definitions import.
 * SW16xx: the app's configs. SW19xx: files.
 */
export const codes = {
  emptyName: { code: "SW1001", severity: error, title: "a name is empty" },
  notAnIdentifier: { code: "SW1002", severity: error, title: "a name is no identifier" },
  reservedWord: {
    code: "SW1003",
    severity: error,
    title: "a name is a reserved word of JavaScript",
  },
  reservedName: { code: "SW1004", severity: error, title: "a name is reserved by Stepwise" },
  nameTooLong: {
    code: "SW1005",
    severity: error,
    title: "a generated name would be longer than Convex allows",
  },
  duplicateNode: { code: "SW1006", severity: error, title: "two nodes have one name" },
  duplicateWorkflow: { code: "SW1007", severity: error, title: "two workflows have one name" },
  functionCollision: {
    code: "SW1008",
    severity: error,
    title: "two generated functions would have one name",
  },
  computedName: { code: "SW1009", severity: error, title: "a name is computed" },
  hiddenGlobal: {
    code: "SW1010",
    severity: error,
    title: "a node's name hides a global that the input uses",
  },
  hiddenName: { code: "SW1011", severity: error, title: "a node's name hides one around it" },
  unusableRenaming: { code: "SW1012", severity: error, title: "a renaming that does not hold" },

  computedChain: {
    code: "SW1101",
    severity: error,
    title: "the structure of a workflow is computed",
  },
  notExported: { code: "SW1102", severity: error, title: "a workflow is not exported" },
  defaultExport: { code: "SW1103", severity: error, title: "a workflow is the default export" },
  twoExports: { code: "SW1104", severity: error, title: "a workflow is exported under two names" },
  noNodes: { code: "SW1105", severity: error, title: "a workflow has no nodes" },
  afterFinalize: { code: "SW1106", severity: error, title: "a node stands after finalize" },
  noInput: { code: "SW1107", severity: error, title: "a workflow has no input" },
  openInput: { code: "SW1108", severity: error, title: "an input cannot be written out again" },
  finalizeInBody: {
    code: "SW1109",
    severity: error,
    title: "a finalize stands inside another node",
  },
  noCases: { code: "SW1110", severity: error, title: "a branch has no cases" },
  impossibleCase: { code: "SW1111", severity: error, title: "a case that is never chosen" },
  missingCase: { code: "SW1112", severity: error, title: "a key without a case" },
  misusedDefine: {
    code: "SW1114",
    severity: error,
    title: "defineWorkflow is not called as it is imported",
  },
  emptyBody: { code: "SW1113", severity: error, title: "a loop has an empty body" },

  unknownNode: { code: "SW1201", severity: error, title: "a node of an unknown kind" },
  unreadableOptions: {
    code: "SW1203",
    severity: error,
    title: "the options of a node cannot be read",
  },
  oneFunction: {
    code: "SW1205",
    severity: error,
    title: "not exactly one of action, mutation and query",
  },
  unknownHandler: { code: "SW1206", severity: error, title: "a handler that cannot be found" },
  referenceArgs: { code: "SW1207", severity: error, title: "a function reference without args" },
  inlineOnly: {
    code: "SW1208",
    severity: error,
    title: "a function reference where only a handler may stand",
  },
  optionOrder: {
    code: "SW1209",
    severity: error,
    title: "options in an order that breaks inference",
  },
  noChildren: { code: "SW1210", severity: error, title: "a parent without children" },
  optionValue: { code: "SW1211", severity: error, title: "an option has a value that cannot be" },
  noEffect: { code: "SW1212", severity: "warning", title: "an option has no effect" },
  missingOption: { code: "SW1213", severity: error, title: "an option is missing" },
  oneSchema: { code: "SW1214", severity: error, title: "not exactly one of schema and anyOf" },
  queryCompensation: { code: "SW1215", severity: error, title: "a compensation that is a query" },

  unknownRead: { code: "SW1301", severity: error, title: "a handler reads an unknown name" },

  unknownChild: { code: "SW1401", severity: error, title: "a child of an unknown workflow" },
  endlessRecursion: {
    code: "SW1402",
    severity: "warning",
    title: "a workflow that starts itself in every run",
  },
  ownChild: { code: "SW1403", severity: "warning", title: "a workflow is its own child" },

  nodeBuiltIn: { code: "SW1501", severity: error, title: "a definition uses a part of Node" },
  nodeFile: { code: "SW1502", severity: error, title: 'a definition uses a "use node" file' },
  importCycle: { code: "SW1503", severity: error, title: "imports lead in a circle" },
  noValue: { code: "SW1504", severity: error, title: "a name has no value when it is used" },

  unreadableConfig: { code: "SW1601", severity: error, title: "the config cannot be read" },
  unknownConfig: { code: "SW1602", severity: error, title: "an unknown option of the config" },
  configValue: {
    code: "SW1603",
    severity: error,
    title: "an option of the config has a value that cannot be",
  },
  unmounted: {
    code: "SW1604",
    severity: "warning",
    title: "the component is not mounted under its name",
  },

  syntaxError: { code: "SW1901", severity: error, title: "a file does not parse" },
  linkedFolder: { code: "SW1902", severity: "warning", title: "a folder of definitions is a link" },
  missingPlan: { code: "SW1903", severity: "warning", title: "the last plan is missing" },
  unreadablePlan: { code: "SW1904", severity: error, title: "the last plan cannot be read" },
  misnamedFile: {
    code: "SW1905",
    severity: "warning",
    title: "a definition in a file of another name",
  },
  unreadableFile: { code: "SW1906", severity: error, title: "a file or folder cannot be read" },
} as const satisfies Record<string, { code: string; severity: "error" | "warning"; title: string }>;

export type CodeName = keyof typeof codes;
