import type { RmOptions } from "node:fs";

export function mkdtempSync(prefix: string): string;
export function mkdtemp(prefix: string): Promise<string>;
export function rmSync(path: string | URL, options?: RmOptions): void;
export function rm(path: string | URL, options?: RmOptions): Promise<void>;
