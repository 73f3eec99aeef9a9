import { displayNameFault } from "../../kernel/text/displayNameFault.ts";
import { type Address, parseAddress } from "../../kernel/text/emailAddress.ts";
import { isHeaderSafe } from "../../kernel/text/isHeaderSafe.ts";
import { isObject } from "../../kernel/text/json.ts";
import { invalid, type ProblemDetail } from "../server/problem.ts";
import type { FurtherRules } from "./validation.ts";

export type UncheckedMembers = Readonly<Record<string, unknown>>;

export const NO_FAULTS: readonly ProblemDetail[] = [];

export function fault(pointer: string, message: string): readonly ProblemDetail[] {
  return [{ pointer, message }];
}

/** Rules about an object's members; a value that is not an object is left to the schema. */
export function memberRules(rules: (members: UncheckedMembers) => readonly ProblemDetail[]): FurtherRules {
  return (value) => (isObject(value) ? rules(value) : NO_FAULTS);
}

export function addressFaults(pointer: string, text: unknown): readonly ProblemDetail[] {
  if (typeof text !== "string") return NO_FAULTS;
  const parsed = parseAddress(text);
  return "invalid" in parsed ? fault(pointer, parsed.invalid) : NO_FAULTS;
}

/** The address in a text. Throws INVALID_REQUEST. */
export function addressIn(pointer: string, text: string): Address {
  const parsed = parseAddress(text);
  if ("invalid" in parsed) throw invalid(pointer, parsed.invalid);
  return parsed;
}

/** As {@link addressFaults}, with a hint on which member takes a name that was written beside the address. */
export function mailboxFaults(
  pointer: string,
  address: unknown,
  nameMember: string,
): readonly ProblemDetail[] {
  const isNamed = typeof address === "string" && /<[^<>]+>\s*$/.test(address);
  return addressFaults(pointer, address).map(({ message }) => ({
    pointer,
    message: isNamed ? `${message}: the name goes into ${nameMember}` : message,
  }));
}

export function headerTextFaults(pointer: string, text: unknown): readonly ProblemDetail[] {
  return typeof text !== "string" || isHeaderSafe(text)
    ? NO_FAULTS
    : fault(pointer, "must hold no line break and no other control character");
}

export function displayNameFaults(
  pointer: string,
  name: unknown,
  charactersMax?: number,
): readonly ProblemDetail[] {
  if (typeof name !== "string") return NO_FAULTS;
  const found = displayNameFault(name, charactersMax);
  return found === null ? NO_FAULTS : fault(pointer, found);
}
