/*
 * The services of others that the recipes call: each function is one request. In a deployment `SERVICES_URL` and `SERVICES_KEY` say where they
 * are; tests put stubs in the place of the steps that call them.
 */

import { env } from "./_generated/server";

interface Mail {
  to: string;
  template: string;
  about?: string;
  /** A mail of a key is sent once, however often it is asked for. */
  key: string;
}

export async function sendMail(mail: Mail): Promise<void> {
  await call("mails", mail);
}

export interface CustomerRecord {
  id: string;
  name: string;
  email: string;
}

/** A page of the customers of another system, and where the next one begins; null after the last. */
export async function fetchCustomers(
  source: string,
  cursor: string | null,
): Promise<{ records: CustomerRecord[]; next: string | null }> {
  return await call("customers", { source, cursor });
}

/** Whether mail to an address arrives. */
export async function isDeliverable(email: string): Promise<boolean> {
  return await call("addresses", { email });
}

/** Pays an employee back. */
export async function payOut(payment: { to: string; cents: number; key: string }): Promise<void> {
  await call("payouts", payment);
}

/** Takes money from a card; of one key once. */
export async function chargeCard(charge: {
  card: string;
  cents: number;
  key: string;
}): Promise<{ chargeId: string }> {
  return await call("charges", charge);
}

export async function refundCharge(refund: { chargeId: string; key: string }): Promise<void> {
  await call("refunds", refund);
}

/** Has a parcel fetched. */
export async function bookParcel(parcel: {
  email: string;
  product: string;
  quantity: number;
  key: string;
}): Promise<{ tracking: string }> {
  return await call("parcels", parcel);
}

/** What a language model answers, as JSON of the form that the task asks for. */
export async function askModel<Answer>(
  task: string,
  given: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Answer> {
  return await call("model", { task, given }, signal);
}

/** Addresses of pages that a web search finds. */
export async function searchWeb(query: string): Promise<string[]> {
  return await call("search", { query });
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
