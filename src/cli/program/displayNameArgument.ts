import { displayNameFault } from "../../kernel/text/displayNameFault.ts";
import { UsageError } from "./command.ts";

/** Returns the name as given. Throws a {@link UsageError} if people could not read it; `what` begins its sentence. */
export function displayNameArgument(what: string, name: string): string {
  const fault = displayNameFault(name);
  if (fault !== null) throw new UsageError(`${what} ${fault}`);
  return name;
}
