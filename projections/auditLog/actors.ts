import { keyIdOf } from "../../src/kernel/event/actor.ts";

/** Who acts without an API key. */
export const AUDIT_ACTORS = ["command_line", "verification_link", "system"] as const;

/** Whether `actor` is the id of an API key. */
export function isKey(actor: string): boolean {
  return !(AUDIT_ACTORS as readonly string[]).includes(actor);
}

/** The id of the API key that acted, or one of {@link AUDIT_ACTORS}. */
export function actorOf(actor: string): string {
  const keyId = keyIdOf(actor);
  if (keyId !== null) return keyId;
  if (actor === "cli") return "command_line";
  return actor === "verification-link" ? "verification_link" : "system";
}

/** The workspace id of entries about the whole installation, because the column has no nulls. */
export const NO_WORKSPACE = "";
