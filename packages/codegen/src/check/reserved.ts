/** Words that cannot name an exported const, and globals that a module cannot declare. */
const reservedWords = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends false " +
    "finally for function if implements import in instanceof interface let new null package private protected public return " +
    "static super switch this throw true try typeof var void while with yield undefined NaN Infinity globalThis exports require module"
  ).split(" "),
);

/** Members that every object has: a field of such a name would be found where there is none. */
const builtInMembers = new Set([
  "__defineGetter__",
  "__defineSetter__",
  "__lookupGetter__",
  "__lookupSetter__",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "isPrototypeOf",
  "propertyIsEnumerable",
  "toLocaleString",
  "toString",
  "valueOf",
]);

export const isReservedWord = (name: string): boolean => reservedWords.has(name);
export const isBuiltInMember = (name: string): boolean => builtInMembers.has(name);
