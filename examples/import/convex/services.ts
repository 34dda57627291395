/*
 * Calls to other services, one request each. In a deployment, `SERVICES_URL` and `SERVICES_KEY` say
 * where they are. Tests stub the steps that call them, and `npm run demo` starts a server that plays
 * them.
 */

import { env } from "./_generated/server";

export interface CustomerRecord {
  id: string;
  name: string;
  email: string;
}

/** A page of customers, and where the next page begins. `next` is null on the last page. */
export async function fetchCustomers(
  source: string,
  cursor: string | null,
): Promise<{ records: CustomerRecord[]; next: string | null }> {
  return await call("customers", { source, cursor });
}

/** Says whether mail to an address arrives. */
export async function isDeliverable(email: string): Promise<boolean> {
  return await call("addresses", { email });
}

async function call<Answer>(service: string, body: unknown): Promise<Answer> {
  const response = await fetch(`${env.SERVICES_URL}/${service}`, {
    method: "POST",
    headers: { authorization: `Bearer ${env.SERVICES_KEY}` },
    body: JSON.stringify(body),
  });
  if (!response.ok)
    throw new Error(`${service} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}
