/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { MINUTE_MS, SECOND_MS } from "../../../kernel/time.ts";
import type { Problem } from "../../server/problem.ts";
import { LinkButton } from "../components/button.tsx";
import { lengthOfTime } from "../components/time.tsx";
import { sentence } from "./formFaults.ts";

interface ProblemBodyProps {
  readonly problem: Problem;
  readonly requestId: string;
  readonly homeAt: string;
}

/** What to do next, by status; null if the problem says it. */
function nextStep({ status, code, options }: Problem): string | null {
  if (status === 404 && options.detail !== undefined) return null;
  if (status === 401 || code === "FORBIDDEN") return null;
  if (status === 404) return "It may belong to another workspace, or the address may have been cut.";
  if (status === 429) return tryAgainIn(options.retryAfterSeconds ?? 0);
  if (status >= 500)
    return "Load the page again in a moment. Whatever was sent may or may not have been done: look before you send it again.";
  return "Go back, change it, and try again.";
}

/** A rate limit is over in a moment, a limit on changes a day in up to a day. */
function tryAgainIn(seconds: number): string {
  if (seconds < MINUTE_MS / SECOND_MS) return "Wait a moment, then load the page again.";
  return `Nothing was changed. You can in ${lengthOfTime(seconds * SECOND_MS)}.`;
}

/** What happened to a failed request, and what to do next. */
export const ProblemBody: FC<ProblemBodyProps> = ({ problem, requestId, homeAt }) => {
  const next = nextStep(problem);
  return (
    <section class="problem">
      <p class="problem-title">{sentence(problem.message)}</p>
      {next === null ? null : <p>{next}</p>}
      <p class="actions">
        <LinkButton href={homeAt} label={problem.status === 401 ? "Log in" : "To the overview"} />
      </p>
      <p class="soft">
        Request <code>{requestId}</code>, status {problem.status}: the service's log names it too.
      </p>
    </section>
  );
};

/** The title for a failed request. */
export function problemTitle({ status }: Problem): string {
  if (status === 404) return "Not found";
  if (status === 401) return "Logged out";
  return status === 403 ? "Not allowed" : "That did not work";
}

/** Replaces a list that is still being built, below the notice of its progress. */
export const NotBuiltYet: FC<{ readonly isChange: boolean }> = ({ isChange }) =>
  isChange ? (
    <p>Nothing was changed. Do it again when the lists are there.</p>
  ) : (
    <p class="soft">There is nothing to show here until then.</p>
  );
