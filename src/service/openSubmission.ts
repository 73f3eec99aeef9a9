import type { Logger } from "pino";
import { threadedSubmittedMailParser } from "../adapters/postalMime/threadedSubmittedMailParser.ts";
import type { Principal } from "../commands/apiKey/authenticate.ts";
import type { SubmissionServer } from "../ports/submission/submissionServer.ts";
import { MAIL_BYTES_MAX } from "../smtp/readMailBytes.ts";
import { type SubmissionOptions, submissionSession } from "../smtp/submissionSession.ts";
import { RECIPIENTS_MAX } from "../smtp/submitMail.ts";
import { renewedTlsFiles } from "./adapters/renewedTlsFiles.ts";
import type { Config } from "./config/config.ts";
import { listenError } from "./faults/startupErrors.ts";
import { smtpGreetingName } from "./smtpGreetingName.ts";

/** The port that takes mail over SMTP, once it answers. */
interface OpenSubmission {
  readonly port: SubmissionServer<Principal>;
  answer(options: Omit<SubmissionOptions, "parser">): void;
  stop(): Promise<void>;
  kill(): void;
}

/** Opens the port that SUBMISSION_PORT names; null if none. Throws why it cannot be opened. */
export async function openSubmission(
  { submission: config, baseUrl }: Pick<Config, "submission" | "baseUrl">,
  logger: Logger,
): Promise<OpenSubmission | null> {
  if (config === null) return null;
  // Load the server only if mail is to come in over SMTP.
  const { openSubmissionServer } = await import("../adapters/smtpServer/submissionServer.ts");
  const port = await openSubmissionServer<Principal>({
    ...config,
    name: smtpGreetingName(baseUrl),
    renewedTls: config.tls === null ? undefined : renewedTlsFiles(config.tls, logger),
    contentBytesMax: MAIL_BYTES_MAX,
    recipientsMax: RECIPIENTS_MAX,
    onError: ({ message }) => logger.debug({ reason: message }, "a submission connection failed"),
  }).catch((error: unknown) => {
    throw listenError("SUBMISSION_", config, error);
  });
  const parser = threadedSubmittedMailParser();
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
