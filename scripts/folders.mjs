// What tests and scripts use in the place of the functions of `node:fs` with the same names: they
// delete nothing but what they have made.
// oxlint-disable-next-line no-restricted-imports -- This is where they are checked.
import * as fs from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The folders that this process has made. */
const made = new Set();
/** The caches of packages; nobody but tests and scripts writes there under such names. */
const cached = /\/node_modules\/\.cache\/stepwise-[^/]+/;

/** A process that is watched may still write into a folder while that is removed. */
const retrying = { maxRetries: 10 };

export function mkdtempSync(prefix) {
  const folder = fs.mkdtempSync(prefix);
  made.add(fs.realpathSync(folder));
  return folder;
}

export async function mkdtemp(prefix) {
  return mkdtempSync(prefix);
}

export function rmSync(path, options) {
  fs.rmSync(checked(path), { ...retrying, ...options });
}

export async function rm(path, options) {
  await fs.promises.rm(checked(path), { ...retrying, ...options });
}

/** @throws unless a path is a folder that was made here, or is in one. */
function checked(path) {
  const given = path instanceof URL ? fileURLToPath(path) : resolve(path);
  const place = placeOf(given);
  const isOwn = [...made].some((folder) => place === folder || place.startsWith(folder + sep));
  if (isOwn || cached.test(place)) return path;
  throw new Error(`${given} is in no folder that this process has made, so it is not deleted`);
}

/** Where a path is, whatever links lead there. A link at its end is deleted itself. */
function placeOf(path) {
  const folder = dirname(path);
  if (folder === path) return path;
  return join(fs.existsSync(folder) ? fs.realpathSync(folder) : placeOf(folder), basename(path));
}
