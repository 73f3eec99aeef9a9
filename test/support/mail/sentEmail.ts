import { expect } from "bun:test";
import type { ProblemDetail } from "../../../src/http/server/problem.ts";
import type { Answer, Caller } from "../service.ts";
import { message, newKey, type Tenant } from "../tenants.ts";
import { until } from "../until.ts";

/** Sends a message that must be accepted. Returns its id. */
export async function acceptedId(tenant: Tenant, body: unknown): Promise<string> {
  const { status, json } = await tenant.send(newKey(), body);
  expect({ status, code: json.code, errors: json.errors }).toEqual({ status: 202 } as never);
  return json.id;
}

/** A message as the API shows it. */
export async function emailOf(caller: Pick<Caller, "call">, id: string): Promise<Answer["json"]> {
  return (await caller.call("GET", `/api/v1/emails/${id}`)).json;
}

/** Sends a message that must be accepted. Returns it as the API shows it. */
export async function acceptedEmail(tenant: Tenant, body: unknown): Promise<Answer["json"]> {
  return emailOf(tenant, await acceptedId(tenant, body));
}

/** Sends a message to `to`, and waits until it is sent. Returns its id. */
export async function deliveredId(tenant: Tenant, to: string): Promise<string> {
  const id = await acceptedId(tenant, message({ to }));
  await until(async () => (await emailOf(tenant, id)).status === "sent", "the message to be sent");
  return id;
}

/** The faults in an answer, which must refuse the request as invalid. */
export function faultsIn({ status, json }: Answer): readonly ProblemDetail[] {
  expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
  return json.errors;
}
