/* The server that the apps of the guide call. It is one for each app that is measured. */

interface Called {
  readonly what: string;
  /** A tenant, or a customer. */
  readonly of: string;
  readonly at: number;
  until: number;
}

// The compiled app has a copy of this module.
const global = globalThis as { served?: Called[] };

/** All calls until now, in order. They are forgotten. */
export function served(): Called[] {
  const all = global.served ?? [];
  global.served = [];
  return all;
}

async function serve(what: string, of: string, ms: number): Promise<void> {
  const called: Called = { what, of, at: Date.now(), until: Infinity };
  (global.served ??= []).push(called);
  await new Promise((done) => setTimeout(done, ms));
  called.until = Date.now();
}

export async function transcode({ tenant, n }: { tenant: string; n: number }): Promise<null> {
  await serve(`transcode ${n}`, tenant, 1_000);
  return null;
}

export async function charge({ customer, n }: { customer: string; n: number }): Promise<null> {
  await serve(`charge ${n}`, customer, 300);
  return null;
}

export async function ship({ customer, n }: { customer: string; n: number }): Promise<null> {
  await serve(`ship ${n}`, customer, 300);
  return null;
}

const BUSY = { from: 30_000, to: 50_000 };

/** From second 30 to second 50 after the first request it answers that it is busy. */
export async function request(n: number): Promise<Response> {
  const since = Date.now() - (global.served?.[0]?.at ?? Date.now());
  const isBusy = since >= BUSY.from && since < BUSY.to;
  await serve(isBusy ? `refuse ${n}` : `request ${n}`, "all", 200);
  const seconds = `${Math.ceil((BUSY.to - since) / 1_000)}`;
  return isBusy
    ? new Response(null, { status: 429, headers: { "Retry-After": seconds } })
    : new Response();
}

/** Takes 300 to 700 tokens. */
export async function answer(n: number): Promise<{ text: string; tokens: number }> {
  await serve(`answer ${n}`, "all", 1_000);
  return { text: "…", tokens: 300 + ((n * 37) % 401) };
}
