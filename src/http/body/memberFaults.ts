import { displayNameFault } from "../../kernel/text/displayNameFault.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import type { ProblemDetail } from "../server/problem.ts";
import type { FurtherRules } from "./validation.ts";

/** The members of a body that nobody has looked at yet. */
export type UncheckedMembers = Readonly<Record<string, unknown>>;

/** Nothing is wrong. */
export const NO_FAULTS: readonly ProblemDetail[] = [];

export function fault(pointer: string, message: string): readonly ProblemDetail[] {
  return [{ pointer, message }];
}

/** Rules about the members of an object; what is none is the schema's to refuse. */
export function memberRules(rules: (members: UncheckedMembers) => readonly ProblemDetail[]): FurtherRules {
  return (value) => {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? rules(value as UncheckedMembers) : NO_FAULTS;
  };
}

/** What is wrong with a text as an address. */
export function addressFaults(pointer: string, text: unknown): readonly ProblemDetail[] {
  if (typeof text !== "string") return NO_FAULTS;
  const parsed = parseAddress(text);
  return "invalid" in parsed ? fault(pointer, parsed.invalid) : NO_FAULTS;
}

/** As {@link addressFaults}, and which member takes the name that others take beside the address. */
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

/** What is wrong with a name that people are shown. */
export function displayNameFaults(
  pointer: string,
  name: unknown,
  charactersMax?: number,
): readonly ProblemDetail[] {
  if (typeof name !== "string") return NO_FAULTS;
  const found = displayNameFault(name, charactersMax);
  return found === null ? NO_FAULTS : fault(pointer, found);
}
