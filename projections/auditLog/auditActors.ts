import { API_KEY_ID } from "../../src/kernel/crypto/apiKeyFormat.ts";
import { keyIdOf } from "../../src/kernel/event/actor.ts";

/** Who acts without an API key. */
export const AUDIT_ACTORS = ["command_line", "verification_link", "system"] as const;

/** What can have acted, as filters take it: the id of a key, or one of {@link AUDIT_ACTORS}. */
export const AUDIT_ACTOR = new RegExp(`^(?:${AUDIT_ACTORS.join("|")}|${API_KEY_ID})$`);

/** What a filter's fault says about {@link AUDIT_ACTOR}. */
export const AUDIT_ACTOR_FORMS = `the id of an API key, or one of ${AUDIT_ACTORS.join(", ")}`;

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
