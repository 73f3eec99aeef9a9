import { systemClock } from "../../adapters/system/systemClock.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import { AuditSealer } from "../../commands/audit/auditSealer.ts";
import { requireNotFrozen } from "../../commands/instance/openInstance.ts";
import { load } from "../../commands/transact.ts";
import { parseSigningKey } from "../../kernel/crypto/auditSigningKey.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import { progressBar } from "../output/progressBar.ts";
import type { Command } from "../program/command.ts";
import { withStore } from "../program/openStoreForCommand.ts";

export const auditSeal: Command = {
  name: "audit seal",
  summary: "Seal the log up to its head now",
  description:
    "A seal names every event before it by its digest. A service makes one every AUDIT_SEAL_INTERVAL_MS; this makes one at once, also beside a service. A frozen log takes no more seals. Keep the digest that it prints in another place.",
  examples: ["postledger audit seal", "postledger audit seal --json"],
  async run({ config, print }) {
    const bar = progressBar("seal");
    const { revision, leaf, covered } = await withStore(config, async (store) => {
      const { state: instance } = await load(store, instanceAggregate);
      // What is appended after a freeze is not in the log that goes on elsewhere.
      if (instance !== null) requireNotFrozen(instance);
      const { auditSigningKey: pem } = config;
      const signingKey = pem === null ? null : parseSigningKey(pem);
      const sealer = new AuditSealer({ store, clock: systemClock, signingKey, actor: "cli" });
      const head = await store.head();
      do {
        await sealer.readOn(async (position) =>
          bar.show(logReadFraction({ position, head }), `${sealer.last.covered} events sealed`),
        );
      } while (!(await sealer.seal()));
      return sealer.last;
    });
    bar.end();
    print({ seal: revision, digest: leaf, covered }, [
      revision === null ? "the log is empty" : `seal ${revision}: ${covered} events are sealed`,
      ...(leaf === null ? [] : [`its digest, to be kept elsewhere: ${leaf}`]),
    ]);
  },
};
