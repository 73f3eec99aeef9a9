import { dkimKeyFault } from "../../../adapters/mailauth/dkimSigner.ts";
import type { Config } from "../config.ts";
import { ConfigError } from "../configError.ts";

/** Tries to sign with every DKIM key. Throws {@link ConfigError} if one does not sign. */
export async function requireDkimKeys({ dkimKeys }: Pick<Config, "dkimKeys">): Promise<void> {
  const faults = await Promise.all(dkimKeys.map(dkimKeyFault));
  const errors = faults.flatMap((fault, index) => {
    const key = dkimKeys[index];
    return fault === null || key === undefined
      ? []
      : [`DKIM_KEYS: the key ${key.selector} of ${key.domain} does not sign: ${fault}`];
  });
  if (errors.length > 0) throw new ConfigError(errors);
}
