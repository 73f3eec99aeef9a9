/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { SenderFault } from "../../../domain/sender/state.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** What an address that cannot send lacks, and what to do about it on the page of senders. */
export const SENDER_FAULTS: Readonly<Record<SenderFault, string>> = {
  unknown: "is not a sending address of this workspace: add it or its domain, then verify it",
  unverified: "is not verified yet: ask for another link and open it, or have the operator verify it",
  disabled: "is disabled: enable it again",
  domainUnverified: "is of a domain that is not verified yet: publish its DNS record, then have it verified",
  domainDisabled: "is of a domain that is disabled: enable it again",
};

interface SenderFaultAdviceProps {
  readonly context: Pick<PageContext, "may" | "to">;
  readonly fault: SenderFault;
}

/** The fault of a field with an address that cannot send. */
export const SenderFaultAdvice: FC<SenderFaultAdviceProps> = ({ context, fault }) => (
  <>
    It {SENDER_FAULTS[fault]}
    {context.may("sender:manage") ? (
      <>
        {" "}
        under <a href={context.to("/senders")}>Senders</a>.
      </>
    ) : (
      ". Whoever manages senders can do that."
    )}
  </>
);
