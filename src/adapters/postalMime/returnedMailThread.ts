import { serveJobs } from "../../kernel/concurrency/jobThreadScript.ts";
import { parseReturnedMail } from "./parseReturnedMail.ts";

/** The thread that reads returned mails one after another. */
serveJobs(parseReturnedMail);
