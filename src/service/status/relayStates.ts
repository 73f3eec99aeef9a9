import type { RelayChange } from "../../adapters/nodemailer/relayFailover.ts";
import { relayNames } from "../../adapters/nodemailer/smtpRelay.ts";
import type { RelayState } from "../../http/dashboard/frame/dashboardOptions.ts";
import type { Clock } from "../../ports/clock.ts";
import type { MailDeliveryWorker } from "../../reactors/email/mailDeliveryWorker.ts";
import { relaysOf } from "../adapters/openMailTransport.ts";
import type { Config } from "../config/config.ts";

type FoundTrouble = Pick<MailDeliveryWorker, "relayTroubles">;

/** The status of each relay. */
export interface RelayStates {
  /** Call it with each change that the failover reports. */
  note(change: RelayChange): void;
  /** In the order of SMTP_URL. */
  list(delivery: FoundTrouble): readonly RelayState[];
}

/** Assumes that all of them take mail until something else is reported. */
export function relayStates(config: Pick<Config, "mailRoute">, clock: Clock): RelayStates {
  const names = relayNames(relaysOf(config));
  const troubled = new Map<string, NonNullable<RelayState["trouble"]>>();
  return {
    note({ relay, reason }) {
      if (reason === null) troubled.delete(relay);
      else troubled.set(relay, { since: clock.now(), reason });
    },
    list({ relayTroubles }) {
      const ofGroups = new Map(
        relayTroubles.flatMap(({ relays, fault, forMs }) =>
          relays.map((name) => [name, { since: clock.now() - forMs, reason: fault.reason }] as const),
        ),
      );
      return names.map((name) => ({ name, trouble: troubled.get(name) ?? ofGroups.get(name) ?? null }));
    },
  };
}
