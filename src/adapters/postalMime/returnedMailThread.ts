import { serveJobs } from "../../kernel/concurrency/serveJobs.ts";
import { parseReturnedMail } from "./parseReturnedMail.ts";

/** The thread that reads returned mails one after another. */
serveJobs(parseReturnedMail);
