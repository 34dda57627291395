// Plays docs/quick-start.md, and the guide to tests that it leads to, as a new user would: in empty
// folders outside of this repository, with packages as they will be published. The commands, the
// files and what is printed are those of the pages.
//
// `npm install` has no registry here. In its place, packages of this repository are unpacked from
// what `npm pack` made, and others are links to what is installed in this repository. A package of
// ours gets only what its package.json names.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "./committed.mjs";
import { mkdtempSync, rmSync } from "./folders.mjs";

/** They need a deployment, or go on until they are stopped. */
const isNotPlayed = /^npx (?:convex|workflow-codegen (?:dev|studio))\b/;
/** What `npm run verify` has done before. */
const isDone = /^npm (?:ci|run build)$/;

/** A check that runs in a script of npm has settings there, of this repository. */
const isOfScript = /^(?:npm_|INIT_CWD$|VITEST|FORCE_COLOR$)/i;
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfScript.test(name))),
  npm_config_offline: "true",
  NO_COLOR: "1",
};
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
const fail = (text) => {
  throw new Error(text);
};

/** The blocks of code of a page, each with its language and the heading that it stands under. */
function blocksOf(page) {
  const text = readFileSync(join(root, page), "utf8");
  const blocks = [];
  let heading = "";
  for (const [, fence, language, code, title] of text.matchAll(
    /^(```)(\w*)\n([^]*?)\n```$|^#+ (.*)$/gm,
  ))
    if (fence === undefined) heading = title;
    else blocks.push({ heading, language, code });
  return blocks;
}

/** How fast this machine is now, is not what is tested. */
const patient = (command) => command.replace(/^npx vitest run$/, "$& --testTimeout=120000");

const shell = async (command, cwd) =>
  await promisify(execFile)("bash", ["-c", command], { cwd, env, timeout: 600_000 }).catch(
    ({ stdout, stderr, message }) => fail(`${message}\n${stdout}${stderr}`),
  );

/** A folder that a user works in. */
class App {
  /** Lines of the pages that ran here until a workflow had run. */
  linesToFirstRun = undefined;
  /** What the pages ran here. */
  commands = [];
  #lines = 0;
  #cwd;
  #said = { stdout: "", stderr: "" };

  /** @param tarballs of packages that are published, by name */
  constructor(folder, tarballs = new Map()) {
    this.folder = folder;
    this.tarballs = new Map(tarballs);
    this.#cwd = tarballs.size > 0 ? folder : root;
  }

  async play({ language, code }) {
    const [, path] = /^\/\/ (\S+)\n/.exec(code) ?? [];
    if (language === "sh") for (const line of code.split("\n")) await this.#line(line);
    else if (path !== undefined) this.#file(path, code);
    else if (language === "") this.#compare(code);
  }

  async #line(line) {
    if (isNotPlayed.test(line)) return;
    if (this.#cwd === this.folder) this.#lines++;
    for (const command of line.replaceAll("../my-app", this.folder).split(" && ")) {
      const [, program, words] = /^(cd|npm install) (.*)$/.exec(command) ?? [];
      if (program === "cd") this.#cwd = words;
      else if (program === "npm install") await this.#install(words);
      else if (!isDone.test(command)) this.#said = await shell(patient(command), this.#cwd);
      this.commands.push(command);
    }
  }

  async #install(patterns) {
    const { stdout } = await shell(`printf '%s\\n' ${patterns}`, this.#cwd);
    const isDev = stdout.startsWith("--save-dev\n");
    const words = stdout
      .trim()
      .split("\n")
      .slice(isDev ? 1 : 0);
    const names = [];
    for (const word of words) names.push(await this.#nameOf(word));
    const path = join(this.folder, "package.json");
    const manifest = existsSync(path) ? readJson(path) : {};
    const saved = (manifest[isDev ? "devDependencies" : "dependencies"] ??= {});
    for (const [index, name] of names.entries()) {
      const { version, bin = {} } = await this.#add(name);
      const [, asked = version] = words[index].split(/(?<=.)@(?=\d)/);
      if (asked !== version) fail(`the page says ${words[index]}, and ${version} is installed`);
      saved[name] = `^${version}`;
      const programs = join(this.folder, "node_modules/.bin");
      mkdirSync(programs, { recursive: true });
      for (const [program, file] of Object.entries(typeof bin === "string" ? { [name]: bin } : bin))
        symlinkSync(join("..", name, file), join(programs, program));
    }
    writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
  }

  async #nameOf(word) {
    if (!word.endsWith(".tgz")) return word.split(/(?<=.)@/)[0];
    const tarball = join(this.folder, word);
    const { stdout } = await shell(`tar xzOf "${tarball}" package/package.json`);
    const { name } = JSON.parse(stdout);
    this.tarballs.set(name, tarball);
    return name;
  }

  /** Unpacks or links a package, and what it needs. Gives its package.json. */
  async #add(name) {
    const place = join(this.folder, "node_modules", name);
    const manifest = join(place, "package.json");
    if (existsSync(manifest)) return readJson(manifest);
    const tarball = this.tarballs.get(name);
    if (tarball === undefined) this.#link(name, place);
    else {
      mkdirSync(place, { recursive: true });
      await shell(`tar xzf "${tarball}" --strip-components=1`, place);
      const { dependencies, peerDependencies, peerDependenciesMeta = {} } = readJson(manifest);
      for (const each of Object.keys({ ...dependencies, ...peerDependencies }))
        if (peerDependenciesMeta[each]?.optional !== true) await this.#add(each);
    }
    return readJson(manifest);
  }

  #link(name, place) {
    // npm keeps there what no other package shares.
    const own = join(root, "packages/codegen/node_modules", name);
    const target = existsSync(own) ? own : join(root, "node_modules", name);
    if (name.startsWith("@stepwise/") || !existsSync(target)) fail(`nothing installs ${name}`);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(target, place);
  }

  /** Writes a file of the page; one that is there is shown, and may have more comments. */
  #file(path, code) {
    const file = join(this.folder, path);
    const bare = (text) => text.replaceAll(/^ *\/(?:\/|\*\*).*\n/gm, "").trim();
    if (existsSync(file) && bare(readFileSync(file, "utf8")) !== bare(code))
      fail(`${path} is not as the page shows it:\n${readFileSync(file, "utf8")}`);
    if (existsSync(file)) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${code}\n`);
  }

  /** Compares what the last command printed with the page, but for how long it took. */
  #compare(shown) {
    const { stdout, stderr } = this.#said;
    const timeless = (text) =>
      text
        .trim()
        .replaceAll(/\d+\.\d+ s(?=  )|(?:after|in) \d.*$/gm, "…")
        .replaceAll(/^ +/gm, "");
    if (timeless(`${stderr}${stdout}`) !== timeless(shown) || !shown.endsWith(stdout.trim()))
      fail(`the page shows\n${shown}\nand this is printed:\n${stderr}${stdout}`);
    this.linesToFirstRun ??= this.#lines;
  }
}

const scratch = mkdtempSync(join(tmpdir(), "stepwise-quick-start-"));
const folderOf = (name) => {
  mkdirSync(join(scratch, name));
  return join(scratch, name);
};
const isSetUp = /^(?:Before the packages are|Once they are) published$/;
const quickStart = blocksOf("docs/quick-start.md");
const guide = blocksOf("docs/guides/testing.md").filter(({ heading }) => heading === "Testing");
try {
  let tarballs;
  for (const way of ["Before the packages are published", "Once they are published"]) {
    const app = new App(folderOf(way.split(" ")[0]), tarballs);
    for (const block of quickStart)
      if (block.heading === way || !isSetUp.test(block.heading)) await app.play(block);
    for (const block of guide) await app.play(block);
    for (const needed of [/^npx tsc /, /^npx vitest run$/])
      if (!app.commands.some((command) => needed.test(command))) fail(`no page ran ${needed}`);
    if (app.linesToFirstRun !== 3)
      fail(`${way}: ${app.linesToFirstRun} commands to a finished run`);
    console.log(`${way}: a finished run in 3 commands; types and tests pass`);
    tarballs = app.tarballs;
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true });
}
