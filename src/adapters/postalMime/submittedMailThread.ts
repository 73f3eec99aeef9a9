import { serveJobs } from "../../kernel/concurrency/serveJobs.ts";
import { parseSubmittedMail } from "./parseSubmittedMail.ts";

/** The thread that reads large submitted mails one after another. Its owner terminates it when one takes too long. */
serveJobs(parseSubmittedMail);
