/*
 * Calls to other services, one request each. In a deployment, `SERVICES_URL` and `SERVICES_KEY` say
 * where they are. Tests stub the steps that call them, and `npm run demo` starts a server that plays
 * them.
 */

import { env } from "./_generated/server";

export interface Message {
  role: "user" | "model" | "tool";
  text: string;
}

/** What the model wants next: to use a tool, or to answer with this text if `tool` is null. */
export interface Reply {
  text: string;
  tool: { name: "findOrder" | "refund"; orderId: string } | null;
}

export async function askModel(messages: Message[], signal: AbortSignal): Promise<Reply> {
  return await call("model", { messages }, signal);
}

/** Gives the customer the money back, once per key. */
export async function refund(payment: { orderId: string; key: string }): Promise<string> {
  return await call("refunds", payment);
}

async function call<Answer>(service: string, body: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await fetch(`${env.SERVICES_URL}/${service}`, {
    method: "POST",
    headers: { authorization: `Bearer ${env.SERVICES_KEY}` },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
  if (!response.ok)
    throw new Error(`${service} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}
