import { Console } from "node:console";
import { Writable } from "node:stream";
import { inspect } from "node:util";

/** Hands what functions print, and unhandled rejections, to `log`; returns what ends this. */
export function captureLogs(log: (text: string) => void): () => void {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      log(chunk.toString().replace(/\n$/, ""));
      done();
    },
  });
  const own = globalThis.console;
  globalThis.console = new Console({ stdout: stream, stderr: stream, colorMode: false });
  const onRejection = (reason: unknown) => log(`Unhandled rejection: ${inspect(reason)}`);
  process.on("unhandledRejection", onRejection);
  return () => {
    globalThis.console = own;
    process.off("unhandledRejection", onRejection);
  };
}

/** Makes `Math.random` repeat its numbers for a seed (mulberry32); returns what ends this. */
export function seedRandom(seed: number | undefined): () => void {
  const own = Math.random;
  if (seed === undefined) return () => {};
  let state = seed | 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => {
    Math.random = own;
  };
}
