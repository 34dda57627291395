import { loadEnvFile } from "node:process";

/** The files that the Convex CLI reads, the first of them that names a variable deciding. */
const FILES = [".env.local", ".env"];

/** Puts the variables of an app's environment files into `process.env`; what is set there already stays. */
export function loadEnvironment(cwd: string): void {
  for (const file of FILES) {
    try {
      loadEnvFile(`${cwd}/${file}`);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
}
