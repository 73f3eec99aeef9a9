/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { ReadModelBuild } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** The path that {@link ReadModelBuildNotice} polls for progress. */
export const BUILD_PATH = "/live/read-models";
/** The query parameter for a page with nothing to show yet, which reloads when there is something. */
export const WITHOUT_ROWS = "without-rows";

interface ReadModelBuildNoticeProps {
  readonly to: PageContext["to"];
  /** Null: it has just ended. */
  readonly build: ReadModelBuild | null;
  /** Whether the page has nothing to show until then. */
  readonly isWithoutRows: boolean;
}

/** Shown above a page while read models are being built, with their progress. */
export const ReadModelBuildNotice: FC<ReadModelBuildNoticeProps> = ({ to, build, isWithoutRows }) => {
  if (build === null) {
    return (
      <p class="notice" role="status">
        Lists and figures are complete now.{" "}
        <button type="button" data-reload>
          Load the page again
        </button>
      </p>
    );
  }
  const percent = Math.floor(build.done * 100);
  return (
    <section
      id="read-model-build"
      class="standing waiting"
      aria-label="Read models"
      hx-get={to(BUILD_PATH) + (isWithoutRows ? `?${WITHOUT_ROWS}` : "")}
      hx-trigger="every 2s"
      hx-target="this"
      hx-swap="outerHTML"
    >
      <div class="task">
        <h2>Lists and figures are being built</h2>
        <p>
          They are made from the log, of which {percent}% is read.{" "}
          {isWithoutRows
            ? "This page appears as soon as its list is there."
            : "Until then what is newer is missing here."}{" "}
          Nothing is lost, and messages are accepted meanwhile.
        </p>
        <p>
          <progress max={100} value={percent} aria-label="Read of the log" /> {percent}%
        </p>
      </div>
    </section>
  );
};
