/*
 * Calls to other services, one request each. In a deployment, `SERVICES_URL` and `SERVICES_KEY` say
 * where they are. Tests stub the steps that call them, and `npm run demo` starts a server that plays
 * them.
 */

import { env } from "./_generated/server";

interface Mail {
  to: string;
  template: string;
  /** Only one mail is sent per key. */
  key: string;
}

export async function sendMail(mail: Mail): Promise<null> {
  return await call("mails", mail);
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
