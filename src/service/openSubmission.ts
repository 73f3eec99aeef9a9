import type { Logger } from "pino";
import { threadedMailParser } from "../adapters/postalMime/threadedMailParser.ts";
import type { Principal } from "../commands/apiKey/authenticate.ts";
import type { SubmissionServer } from "../ports/submission/submissionServer.ts";
import { MAIL_BYTES_MAX, RECIPIENTS_MAX } from "../smtp/submissionLimits.ts";
import { type SubmissionOptions, submissionSession } from "../smtp/submissionSession.ts";
import type { Config } from "./config/config.ts";
import { smtpName } from "./smtpName.ts";
import { listenError } from "./startupErrors.ts";

/** Where mail is taken over SMTP, once it is answered. */
export interface OpenSubmission {
  readonly port: SubmissionServer<Principal>;
  answer(options: Omit<SubmissionOptions, "parser">): void;
  stop(): Promise<void>;
  kill(): void;
}

/** Takes the port that SUBMISSION_PORT names; null where none is. Throws what says why it cannot be had. */
export async function openSubmission(
  { submission: config, baseUrl }: Pick<Config, "submission" | "baseUrl">,
  logger: Logger,
): Promise<OpenSubmission | null> {
  if (config === null) return null;
  // Only who takes mail over SMTP pays for loading the server.
  const { openSubmissionServer } = await import("../adapters/smtpServer/submissionServer.ts");
  const port = await openSubmissionServer<Principal>({
    ...config,
    name: smtpName(baseUrl),
    contentBytesMax: MAIL_BYTES_MAX,
    recipientsMax: RECIPIENTS_MAX,
    onError: ({ message }) => logger.debug({ reason: message }, "a connection for submission failed"),
  }).catch((error: unknown) => {
    throw listenError("SUBMISSION_", config, error);
  });
  const parser = threadedMailParser();
  return {
    port,
    answer: (options) => port.answer(submissionSession({ ...options, parser })),
    async stop() {
      await port.stop();
      parser.close();
    },
    kill() {
      port.kill();
      parser.close();
    },
  };
}
