import type { Logger } from "pino";
import { threadedReturnedMailParser } from "../adapters/postalMime/threadedReturnedMailParser.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { type ReturnAddress, returnAddress } from "../commands/email/feedback/inboundAddresses.ts";
import {
  type ReturnedMailContext,
  receiveReturnedMail,
} from "../commands/email/feedback/receiveReturnedMail.ts";
import { workerActor } from "../kernel/event/actor.ts";
import { newId } from "../kernel/ids.ts";
import { reasonOf } from "../kernel/text/errorReason.ts";
import type { InboundReply } from "../ports/mail/inboundMail.ts";
import { renewedTlsFiles } from "./adapters/renewedTlsFiles.ts";
import type { Config } from "./config/config.ts";
import { listenError } from "./faults/startupErrors.ts";
import { smtpGreetingName } from "./smtpGreetingName.ts";

/** The port that receives returned mail, once it answers. */
export interface InboundMail {
  readonly host: string;
  readonly port: number;
  /** How many mails were received of each kind, since the start. */
  readonly counts: ReadonlyMap<string, number>;
  answer(deps: Dependencies, isClosed: () => boolean | Promise<boolean>): void;
  stop(graceMs: number): Promise<void>;
}

const TAKEN: InboundReply = { code: 250, text: "2.0.0 taken" };
const NO_SUCH_ADDRESS: InboundReply = { code: 550, text: "5.1.1 no such address" };
const LATER: InboundReply = { code: 451, text: "4.3.0 try again later" };

/** What answers mail while the service runs. */
interface Answering {
  readonly context: ReturnedMailContext;
  readonly isClosed: () => boolean | Promise<boolean>;
}

/** Opens the port that INBOUND_PORT names; null if none. Throws why it cannot be opened. */
export async function openInboundMail(
  config: Pick<Config, "inbound" | "bounceDomains" | "baseUrl">,
  logger: Logger,
): Promise<InboundMail | null> {
  const { inbound: place, bounceDomains, baseUrl } = config;
  if (place === null) return null;
  // Load the server only if mail is to come in over SMTP.
  const { openInboundMailServer } = await import("../adapters/smtpServer/inboundMailServer.ts");
  const counts = new Map<string, number>();
  const parser = threadedReturnedMailParser();
  let answering: Answering | null = null;
  const server = await openInboundMailServer(
    {
      ...place,
      name: smtpGreetingName(baseUrl),
      renewedTls: place.tls === null ? undefined : renewedTlsFiles(place.tls, logger),
      onTrouble: (error) =>
        logger.debug({ reason: reasonOf(error) }, "a connection with returned mail failed"),
    },
    {
      refusalOf(address) {
        if (answering === null) return LATER;
        return returnAddress(answering.context, address) === null ? NO_SUCH_ADDRESS : null;
      },
      async receive(recipients, bytes) {
        if (answering === null) return LATER;
        try {
          if (await answering.isClosed()) return LATER;
          await receiveForAll(answering.context, recipients, bytes, counts);
          return TAKEN;
        } catch (error) {
          logger.warn(
            { reason: reasonOf(error) },
            "could not record a returned mail; the server that sent it will retry",
          );
          return LATER;
        }
      },
    },
  ).catch((error: unknown) => {
    throw listenError("INBOUND_", place, error);
  });
  return {
    host: place.host,
    port: server.port,
    counts,
    answer(deps, isClosed) {
      const { store, content, keys, clock } = deps;
      const shared = { store, content, keys, bounceDomains, parser };
      const actor = workerActor(newId());
      answering = { context: { ...shared, ...place, actor, now: () => clock.now() }, isClosed };
    },
    async stop(graceMs) {
      await server.close(graceMs);
      parser.close();
    },
  };
}

async function receiveForAll(
  context: ReturnedMailContext,
  recipients: readonly string[],
  bytes: Uint8Array,
  counts: Map<string, number>,
): Promise<void> {
  const addresses = recipients
    .map((one) => returnAddress(context, one))
    .filter((address): address is ReturnAddress => address !== null);
  const { reading } = await receiveReturnedMail(context, addresses, bytes);
  counts.set(reading, (counts.get(reading) ?? 0) + 1);
}
