import { type Command, InvalidArgumentError } from "commander";
import type { RunOptions } from "../run.js";
import { dirOption, examples } from "./shared.js";

export function registerRun(program: Command): void {
  program
    .command("run")
    .description("compile, then run a workflow in this process: no account, no network")
    .argument("<workflow>", "the name of an exported definition")
    .option("--input <json>", "the run's input as JSON, or @path of a file that holds it", "{}")
    .option(
      "--file <field=@path>",
      "put a file into storage, and its id into that field of the input; may be repeated",
      collectFile,
    )
    .addOption(dirOption())
    .option(
      "--events <json>",
      'events to send, as JSON or @path: [{ "name", "value", "at": "10m" }]; without "at", when a run waits for it',
    )
    .option("--skip-time", "do not wait for backoff, timeouts and sleeps", false)
    .option("--seed <path>", "a JSON file of documents to insert first: { table: [document, …] }")
    .option("--random <number>", "give Math.random the same numbers each time", wholeNumber)
    .option("--quiet", "print the output, and what went wrong, but no progress", false)
    .addHelpText(
      "after",
      examples(
        [
          'workflow-codegen run greet --input \'{ "name": "Ada" }\'',
          "workflow-codegen run ingest --input @input.json --file storageId=@report.pdf",
          'workflow-codegen run order --skip-time --random 1 --events \'[{ "name": "approval", "value": { "ok": true } }]\'',
        ],
        "The output is printed to stdout as JSON, progress to stderr. Exits with 1 when the run fails.\n" +
          'A seeded document may have a label as its "_id"; "$id:label" in the input or a later document is its id.\n' +
          "Functions see the environment variables of .env.local and .env, as the Convex CLI reads them.",
      ),
    )
    .action(async (workflow: string, options: RunOptions) => {
      const { runCommand } = await import("../run.js");
      await runCommand(workflow, options);
    });
}

type Files = NonNullable<RunOptions["file"]>;

function collectFile(given: string, before: Files = []): Files {
  const [, field, path] = /^([^=]+)=@?(.+)$/.exec(given) ?? [];
  if (field === undefined || path === undefined) {
    throw new InvalidArgumentError("It must be field=@path, such as storageId=@report.txt.");
  }
  return [...before, { field, path }];
}

function wholeNumber(given: string): number {
  const number = Number(given);
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("It must be a whole number.");
  return number;
}
