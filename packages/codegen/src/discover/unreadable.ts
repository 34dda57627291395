/** A file or folder is there but cannot be read: a lack of rights, or links in a circle. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";

  /** @param path of the file or folder, as it was asked for */
  constructor(
    readonly path: string,
    cause: unknown,
  ) {
    super(`${path} cannot be read: ${reasonOf(cause)}`, { cause });
  }
}

/** Codes of errors that say that something is not there, or is not what it was looked for as. */
const absent: readonly unknown[] = ["ENOENT", "EISDIR", "ENOTDIR"];

/** What is read; undefined when it is not there, as it may have been removed since it was found. */
export function ifPresent<Read>(path: string, read: (path: string) => Read): Read | undefined {
  try {
    return read(path);
  } catch (error) {
    if (absent.includes(codeOf(error))) return undefined;
    throw new Unreadable(path, error);
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

const reasons = new Map<unknown, string>([
  ["EACCES", "you have no right to"],
  ["EPERM", "you have no right to"],
  ["ELOOP", "it is a link that leads to itself"],
  ["ENAMETOOLONG", "its path is too long"],
]);

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  const reason = reasons.get(code);
  const text = error instanceof Error ? error.message : String(error);
  return reason === undefined ? text : `${reason} (${String(code)})`;
}
