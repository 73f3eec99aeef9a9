import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { notFound } from "../program/command.ts";

/** Ends a command whose operand is not the id of a key. It may be the name of one. */
export function unknownKey(id: string): never {
  notFound(
    `there is no key ${id}`,
    `a key is given by its id, not by its name: \`${POSTLEDGER} api-key list\` lists both`,
  );
}
