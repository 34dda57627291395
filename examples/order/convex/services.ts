/*
 * Calls to other services, one request each. In a deployment, `SERVICES_URL` and `SERVICES_KEY` say
 * where they are. Tests stub the steps that call them, and `npm run demo` starts a server that plays
 * them.
 */

import { env } from "./_generated/server";

interface Mail {
  to: string;
  template: string;
  about?: string;
  /** Only one mail is sent per key. */
  key: string;
}

export async function sendMail(mail: Mail): Promise<null> {
  return await call("mails", mail);
}

/** Takes money from a card, once per key. */
export async function chargeCard(charge: {
  card: string;
  cents: number;
  key: string;
}): Promise<{ chargeId: string }> {
  return await call("charges", charge);
}

export async function refundCharge(refund: { chargeId: string; key: string }): Promise<null> {
  return await call("refunds", refund);
}

/** Orders a parcel service. */
export async function bookParcel(parcel: {
  email: string;
  product: string;
  quantity: number;
  key: string;
}): Promise<{ tracking: string }> {
  return await call("parcels", parcel);
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
