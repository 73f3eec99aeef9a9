import { systemClock } from "../../adapters/system/systemClock.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import { AuditSealer, SigningKeyMissingError } from "../../commands/audit/auditSealer.ts";
import { requireNotFrozen } from "../../commands/instance/openInstance.ts";
import { load } from "../../commands/transact.ts";
import type { ChainEnd } from "../../domain/audit/seal.ts";
import { parseSigningKey } from "../../kernel/crypto/auditSigningKey.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import type { Config } from "../../service/config/config.ts";
import { progressBar } from "../output/progressBar.ts";
import { type Command, CommandFailure, refuse } from "../program/command.ts";
import { withStore } from "../program/openStoreForCommand.ts";

const MISSING_KEY_HINT =
  "To do: set AUDIT_SIGNING_KEY_FILE to the key that the service signs with. --unsigned stops signing for good: `audit verify --public-key` then reports every unsigned seal";

/** Seals the log up to its head, and returns the last seal. */
async function sealToHead(config: Config, isUnsigned: boolean): Promise<ChainEnd> {
  const bar = progressBar("seal");
  const { auditSigningKey: pem } = config;
  const signingKey = pem === null || isUnsigned ? null : parseSigningKey(pem);
  const last = await withStore(config, async (store) => {
    const { state: instance } = await load(store, instanceAggregate);
    // What is appended after a freeze is not in the log that goes on elsewhere.
    if (instance !== null) requireNotFrozen(instance);
    const signing = { signingKey, mayStopSigning: isUnsigned };
    const sealer = new AuditSealer({ store, clock: systemClock, ...signing, actor: "cli" });
    const head = await store.head();
    do {
      await sealer.readOn(async (position) =>
        bar.show(logReadFraction({ position, head }), `${sealer.last.covered} events sealed`),
      );
    } while (!(await sealer.seal()));
    return sealer.last;
  });
  bar.end();
  return last;
}

export const auditSeal: Command = {
  name: "audit seal",
  summary: "Seal the log up to its head now",
  description:
    "A seal names every event before it by its digest. A service makes one every AUDIT_SEAL_INTERVAL_MS; this makes one at once, also beside a service. It is signed if AUDIT_SIGNING_KEY is set, which must be so once a seal is signed. A frozen log takes no more seals. Keep the digest that it prints in another place.",
  options: [
    {
      name: "unsigned",
      value: null,
      help: "do not sign, also after signed seals: from then on verification with the public key fails (default: refuse)",
    },
  ],
  examples: [
    "postledger audit seal",
    "AUDIT_SIGNING_KEY_FILE=seal.key postledger audit seal --json",
    "postledger audit seal --unsigned # Stops signing for good",
  ],
  async run({ config, option, print }) {
    const isUnsigned = option("unsigned") !== undefined;
    const { revision, leaf, covered, isSigned } = await sealToHead(config, isUnsigned).catch((error) => {
      if (!(error instanceof SigningKeyMissingError)) throw error;
      throw new CommandFailure("refused", error.message, MISSING_KEY_HINT);
    });
    if (isUnsigned && isSigned) refuse("the log has no events since its last seal, which is signed");
    print({ seal: revision, digest: leaf, covered }, [
      revision === null ? "the log is empty" : `seal ${revision}: ${covered} events are sealed`,
      ...(leaf === null ? [] : [`its digest, to be kept elsewhere: ${leaf}`]),
    ]);
  },
};
