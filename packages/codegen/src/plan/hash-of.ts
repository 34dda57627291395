import { hash } from "node:crypto";

/** Short enough to read in a diff, long enough never to meet by chance. */
export function hashOf(text: string): string {
  return hash("sha256", text).slice(0, 16);
}
