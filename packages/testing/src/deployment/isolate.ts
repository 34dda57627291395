import { AsyncLocalStorage } from "node:async_hooks";
import type { FunctionType } from "../call.js";
import type { Document } from "../indexed/order.js";
import type { Usage } from "../usage.js";
import type { Timer } from "./clock.js";
import type { FunctionPath, Job } from "./job.js";
import type { Transaction } from "./transaction.js";

/** What serves the system calls of a function. */
export interface Host {
  syscall(frame: Frame, operation: string, args: string): string;
  asyncSyscall(frame: Frame, operation: string, args: string): Promise<string>;
  /** `Math.random` and the like. */
  random(): number;
  after(ms: number, run: () => void): Timer;
}

/** One function that runs. */
export interface Frame {
  readonly host: Host;
  readonly path: FunctionPath;
  readonly type: FunctionType;
  /** None in an action. */
  readonly transaction: Transaction | undefined;
  /** The scheduled function that it is, or is called by. */
  readonly job: Job | undefined;
  readonly limits: Readonly<Usage>;
  readonly depth: number;
  /** Returns the time in ms since the epoch, by the clock that the function sees. */
  now(): number;
  /** Its machine is gone: nothing reaches it any more. */
  isDead: boolean;
  /** What it has set global variables to. */
  readonly globals: Map<string, unknown>;
  readonly queries: Map<number, Iterator<Document, void>>;
  /** [30] System calls of a transaction run one after another. */
  line: Promise<unknown>;
}

export const frames = new AsyncLocalStorage<Frame>();

const { floor } = Math;
const RealDate = Date;
const RealMath = Math;
const realCrypto = globalThis.crypto;
const nothing = (): void => {};

class FunctionDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(FunctionDate.now());
    else super(...(given as [number]));
  }
  static override now(): number {
    const frame = frames.getStore();
    return frame === undefined ? RealDate.now() : floor(frame.now());
  }
}

const FunctionMath = Object.create(
  RealMath,
  Object.getOwnPropertyDescriptors({
    random: () => frames.getStore()?.host.random() ?? RealMath.random(),
  }),
) as typeof Math;

const FunctionCrypto = {
  getRandomValues<T extends ArrayBufferView>(array: T): T {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = floor(FunctionMath.random() * 256);
    return array;
  },
  randomUUID(): string {
    const hex = Array.from({ length: 32 }, () => floor(FunctionMath.random() * 16).toString(16));
    return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  },
  subtle: realCrypto.subtle,
};

const QUIET_CONSOLE = new Proxy({}, { get: () => nothing });

/** Timers of an action, which nothing else may set. */
const timers = {
  set(fire: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): Timer {
    const frame = actionFrame("setTimeout");
    return frame.host.after(ms, () => {
      if (!frame.isDead) frames.run(frame, fire, ...given);
    });
  },
  repeat(fire: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): Timer {
    const frame = actionFrame("setInterval");
    const timer = { isCanceled: false };
    const next = () =>
      frame.host.after(ms, () => {
        if (frame.isDead || timer.isCanceled) return;
        frames.run(frame, fire, ...given);
        next();
      });
    next();
    return timer;
  },
  clear(timer: Timer | undefined): void {
    if (timer !== undefined) timer.isCanceled = true;
  },
};

function actionFrame(what: string): Frame {
  const frame = frames.getStore()!;
  if (frame.type === "action") return frame;
  throw new Error(`Can't use ${what} in queries and mutations.`);
}

/** What global variables are inside a function. */
const INSIDE: Readonly<Record<string, unknown>> = {
  Date: FunctionDate,
  Math: FunctionMath,
  crypto: FunctionCrypto,
  console: QUIET_CONSOLE,
  performance: { now: () => frames.getStore()?.now() ?? 0 },
  setTimeout: timers.set,
  setInterval: timers.repeat,
  clearTimeout: timers.clear,
  clearInterval: timers.clear,
  Convex: {
    syscall: (operation: string, args: string) => {
      const frame = frames.getStore()!;
      return frame.host.syscall(frame, operation, args);
    },
    asyncSyscall: (operation: string, args: string) => {
      const frame = frames.getStore()!;
      return frame.host.asyncSyscall(frame, operation, args);
    },
    jsSyscall: (operation: string) => {
      throw new Error(`The system call ${operation} is not modelled.`);
    },
  },
  // Libraries set these inside a function, which is to reach nobody else.
  process: undefined,
  Crypto: undefined,
  CryptoKey: undefined,
  SubtleCrypto: undefined,
};
const HAS_INSIDE = new Set(Object.keys(INSIDE).filter((name) => INSIDE[name] !== undefined));

let isInstalled = false;

/** Has global variables be those of a function while one runs, and what they were elsewhere. */
export function installGlobals(): void {
  if (isInstalled) return;
  isInstalled = true;
  const outside = globalThis as unknown as Record<string, unknown>;
  for (const name of Object.keys(INSIDE)) {
    let elsewhere = outside[name];
    Object.defineProperty(globalThis, name, {
      configurable: true,
      enumerable: true,
      get: () => {
        const frame = frames.getStore();
        if (frame === undefined) return elsewhere;
        if (frame.globals.has(name)) return frame.globals.get(name);
        return HAS_INSIDE.has(name) ? INSIDE[name] : elsewhere;
      },
      set: (value: unknown) => {
        const frame = frames.getStore();
        if (frame === undefined) elsewhere = value;
        else frame.globals.set(name, value);
      },
    });
  }
}
