import { Console } from "node:console";
import { Writable } from "node:stream";
import { inspect } from "node:util";

/**
 * Hands what functions print to `onText` instead of to the process's own streams, where it would get
 * in between the output of whoever runs them. Returns a function that ends this.
 */
export function captureConsole(onText: (text: string) => void): () => void {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      onText(chunk.toString().replace(/\n$/, ""));
      done();
    },
  });
  const own = globalThis.console;
  globalThis.console = new Console({ stdout: stream, stderr: stream, colorMode: false });
  return () => {
    globalThis.console = own;
  };
}

/**
 * Hands promises that were left behind and failed to `onText`: a deployment logs them, while Node would
 * end the process. Returns a function that ends this.
 */
export function captureRejections(onText: (text: string) => void): () => void {
  const onRejection = (reason: unknown) => onText(`Unhandled rejection: ${inspect(reason)}`);
  process.on("unhandledRejection", onRejection);
  return () => void process.off("unhandledRejection", onRejection);
}
