import type { Server } from "./http-source.js";

/** The studio's tabs in a browser. Only pages of the same origin can listen. */
const tabs = new BroadcastChannel("studio");
/** How long a new tab waits for an answer of another one, in ms. */
const ANSWER_MS = 1_000;
const ASKED = "token?";

/** Takes the token out of the address. A reload finds it again, and a new tab asks for it. */
export async function takeToken(): Promise<string> {
  const [, given, run] = /^#token=([\w-]+)(?:&run=(.+))?$/.exec(location.hash) ?? [];
  if (given !== undefined)
    history.replaceState(null, "", run === undefined ? "#/runs" : `#/runs/${run}`);
  const token = given ?? (sessionStorage.getItem("token") || (await askTabs()));
  sessionStorage.setItem("token", token);
  return token;
}

/** Answers new tabs, while the server takes the token: an old one helps nobody. */
export function tellTabs(token: string, server: Server): void {
  tabs.addEventListener("message", ({ data }) => {
    if (data !== ASKED) return;
    server.about().then(
      () => post({ token }),
      () => {},
    );
  });
}

/** Returns the token that another tab has, or "" if there is none. */
async function askTabs(): Promise<string> {
  return await new Promise((resolve) => {
    tabs.addEventListener("message", ({ data }: MessageEvent<{ token?: string }>) => {
      if (data.token !== undefined) resolve(data.token);
    });
    setTimeout(() => resolve(""), ANSWER_MS);
    post(ASKED);
  });
}

function post(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel has none.
  tabs.postMessage(message);
}
