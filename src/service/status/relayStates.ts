import type { RelayChange } from "../../adapters/nodemailer/relayFailover.ts";
import { relayName } from "../../adapters/nodemailer/smtpRelay.ts";
import type { RelayState } from "../../http/dashboard/frame/dashboardOptions.ts";
import type { Clock } from "../../ports/clock.ts";
import type { MailDeliveryWorker } from "../../reactors/email/mailDeliveryWorker.ts";
import { relaysOf } from "../adapters/openMailTransport.ts";
import type { Config } from "../config/config.ts";

type FoundTrouble = Pick<MailDeliveryWorker, "relayFault" | "relayFaultMs">;

/** The status of each relay. */
export interface RelayStates {
  /** Call it with each change that the failover reports. */
  note(change: RelayChange): void;
  /** In the order of SMTP_URL. Of a single relay only the trouble that the delivery has found, if any. */
  list(delivery: FoundTrouble): readonly RelayState[];
}

/** Assumes that all of them take mail until something else is reported. */
export function relayStates(config: Pick<Config, "mailRoute">, clock: Clock): RelayStates {
  const names = relaysOf(config).map(relayName);
  const troubled = new Map<string, NonNullable<RelayState["trouble"]>>();
  return {
    note({ relay, reason }) {
      if (reason === null) troubled.delete(relay);
      else troubled.set(relay, { since: clock.now(), reason });
    },
    list({ relayFault: fault, relayFaultMs }) {
      if (names.length > 1) return names.map((name) => ({ name, trouble: troubled.get(name) ?? null }));
      if (fault === null) return [];
      const trouble = { since: clock.now() - relayFaultMs, reason: fault.reason };
      return names.map((name) => ({ name, trouble }));
    },
  };
}
