import { displayNameFault } from "../../kernel/text/displayNameFault.ts";
import { UsageError } from "./command.ts";

/** Returns the name as given. Throws a {@link UsageError} if `faultOf` finds a fault; `what` begins its sentence. */
export function displayNameArgument(
  what: string,
  name: string,
  faultOf: (name: string) => string | null = displayNameFault,
): string {
  const fault = faultOf(name);
  if (fault !== null) throw new UsageError(`${what} ${fault}`);
  return name;
}
