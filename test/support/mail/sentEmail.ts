import { expect } from "bun:test";
import type { ProblemDetail } from "../../../src/http/server/problem.ts";
import type { Answer } from "../service.ts";
import { newKey, type Tenant } from "../tenants.ts";

/** Sends a message that must be accepted. Returns its id. */
export async function acceptedId(tenant: Tenant, body: unknown): Promise<string> {
  const { status, json } = await tenant.send(newKey(), body);
  expect({ status, code: json.code, errors: json.errors }).toEqual({ status: 202 } as never);
  return json.id;
}

/** Sends a message that must be accepted. Returns it as the API shows it. */
export async function acceptedEmail(tenant: Tenant, body: unknown): Promise<Answer["json"]> {
  return (await tenant.call("GET", `/api/v1/emails/${await acceptedId(tenant, body)}`)).json;
}

/** The faults in an answer, which must refuse the request as invalid. */
export function faultsIn({ status, json }: Answer): readonly ProblemDetail[] {
  expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
  return json.errors;
}
