/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { rateCounts } from "../../../../projections/emails/usage/queries.ts";
import { HARD_BOUNCE_REASONS } from "../../../domain/email/events.ts";
import {
  countedText,
  isAtThreshold,
  percentText,
  RATE_KINDS,
  RATE_MESSAGES_MIN,
  type RateKind,
  ratesCountFrom,
  type SendingRate,
  sendingRate,
} from "../../../domain/workspace/sendingRates.ts";
import { capitalized } from "../../../kernel/text/capitalized.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { scheduledRead } from "../../lists/caughtUpReads.ts";
import { Facts } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { listAddress } from "../email/emailListPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** A workspace's rate of the last seven days. */
export interface ShownRate {
  readonly kind: RateKind;
  /** Null if there are too few messages for one. */
  readonly rate: SendingRate | null;
  /** `failed`: high enough for a pause. */
  readonly status: "ok" | "warning" | "failed";
}

/** The rates of a workspace. */
export async function shownRates(
  { readModel, sendingRates: { warning, pause } }: Pick<DashboardOptions, "readModel" | "sendingRates">,
  workspaceId: string,
  now: EpochMs,
): Promise<readonly ShownRate[]> {
  const from = rfc3339(ratesCountFrom(now));
  const counts = await scheduledRead(readModel("emails"), (db) =>
    rateCounts(db, workspaceId, from, rfc3339(now)),
  );
  return RATE_KINDS.map((kind) => {
    const rate = sendingRate(kind, counts);
    const isHigh = isAtThreshold(rate, warning[kind]);
    const status = isAtThreshold(rate, pause[kind]) ? "failed" : isHigh ? "warning" : "ok";
    return { kind, rate, status };
  });
}

const SEARCHED: Readonly<Record<RateKind, string>> = {
  bounce: `status:bounced reason:${HARD_BOUNCE_REASONS.join(",")}`,
  complaint: "status:complained",
};

interface SendingRatesProps {
  readonly context: PageContext;
  readonly rates: readonly ShownRate[];
}

/** The rates of live mail. While the read models are being built, the counts are those of an earlier time. */
export const SendingRates: FC<SendingRatesProps> = ({ context, rates }) =>
  rates.length === 0 || context.readModelBuild !== null ? null : (
    <section class="section" aria-labelledby="rates">
      <h2 id="rates">Rates of the last seven days</h2>
      <Facts
        facts={rates.map((rate) => [`${capitalized(rate.kind)} rate`, <RateFact {...{ context, rate }} />])}
      />
    </section>
  );

const RateFact: FC<{ readonly context: PageContext; readonly rate: ShownRate }> = ({
  context,
  rate: { kind, rate, status },
}) => {
  if (rate === null)
    return <span class="soft">none: fewer than {grouped(RATE_MESSAGES_MIN[kind])} messages were sent</span>;
  return (
    <>
      <Status status={status} label={percentText(rate)} /> <span class="soft">{countedText(rate)}</span>{" "}
      {rate.reported === 0 ? null : <a href={listAddress(context, SEARCHED[kind])}>Show {kind}s</a>}
      {status === "ok" ? null : (
        <p>
          Too high: providers suspend accounts for such rates. Send only to people who have confirmed their
          address, and to no list that is old or bought.
        </p>
      )}
    </>
  );
};
