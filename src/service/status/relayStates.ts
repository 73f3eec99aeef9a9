import type { RelayChange } from "../../adapters/nodemailer/relayFailover.ts";
import { relayName } from "../../adapters/nodemailer/smtpRelay.ts";
import type { RelayState } from "../../http/dashboard/frame/dashboardOptions.ts";
import type { Clock } from "../../ports/clock.ts";
import { relaysOf } from "../adapters/openMailTransport.ts";
import type { Config } from "../config/config.ts";

/** The status of each of several relays. */
export interface RelayStates {
  /** Call it with each change that the failover reports. */
  note(change: RelayChange): void;
  /** In the order of SMTP_URL; empty for a single relay, whose trouble the delivery itself reports. */
  list(): readonly RelayState[];
}

/** Assumes that all of them take mail until something else is reported. */
export function relayStates(config: Pick<Config, "mailRoute">, clock: Clock): RelayStates {
  const names = relaysOf(config).map(relayName);
  const resting = new Map<string, NonNullable<RelayState["resting"]>>();
  return {
    note({ relay, reason }) {
      if (reason === null) resting.delete(relay);
      else resting.set(relay, { since: clock.now(), reason });
    },
    list: () => (names.length < 2 ? [] : names.map((name) => ({ name, resting: resting.get(name) ?? null }))),
  };
}
