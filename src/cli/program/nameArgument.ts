import { displayNameFault } from "../../kernel/text/displayNameFault.ts";
import { UsageError } from "./command.ts";

/** A name as it was given. Throws a {@link UsageError} for what people could not read; `what` begins its sentence. */
export function nameArgument(what: string, name: string): string {
  const fault = displayNameFault(name);
  if (fault !== null) throw new UsageError(`${what} ${fault}`);
  return name;
}
