/** @jsxImportSource hono/jsx */

import type { FC } from "hono/jsx";
import { VARIABLE_TYPES, type VariableDefinition } from "../../../domain/template/variables.ts";
import { listedUpTo } from "../../../kernel/text/readableNumbers.ts";
import { LinkButton } from "../components/button.tsx";
import { PostForm } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import {
  type DraftFields,
  type FieldFaults,
  NO_FAULTS,
  rowsToFill,
  SAMPLE_PREFIX,
  type VariableFields,
} from "./draftForm.ts";
import type { DraftPreview } from "./draftPreview.ts";
import { sampleText } from "./sampleValues.ts";

/** Names of added rows that the notice lists; the others are counted. */
const NAMED_MAX = 20;
/** The field that says which rows for variables a button asks for. */
export const ROWS_FIELD = "rows";
/** Asks for an empty row. */
export const ANOTHER_ROW = "another";
/** Asks for a row for each name that the template uses and does not declare. */
const UNDECLARED_ROWS = "undeclared";

interface DraftEditorProps {
  readonly context: PageContext;
  /** The path of the template's page. */
  readonly at: string;
  readonly fields: DraftFields;
  /** Null before there is anything to see. */
  readonly preview: DraftPreview | null;
  /** Whether a row was added, to be filled next. */
  readonly hasNewRow?: boolean | undefined;
  /** The names for which rows were added instead of saving. */
  readonly added?: readonly string[] | undefined;
}

/** The form of a new version, with a preview that refreshes when typing stops. */
export const DraftEditor: FC<DraftEditorProps> = ({
  context,
  at,
  fields,
  preview,
  hasNewRow,
  added = [],
}) => {
  const faults = preview?.faults ?? NO_FAULTS;
  const previewAt = context.to(`${at}/draft/preview`);
  return (
    <>
      <Heading title="New draft" />
      {added.length === 0 ? null : (
        <p class="notice" role="alert">
          Not saved yet: rows were added below for {listedUpTo(NAMED_MAX, added)}. Check their types, and save
          again.
        </p>
      )}
      <PostForm context={context} action={`${at}/draft`} class="editor">
        {/* The form's first button is the one that Enter presses. */}
        <PreviewButton previewAt={previewAt} isHidden />
        <div
          class="editor-fields"
          hx-post={previewAt}
          hx-trigger="input delay:400ms"
          hx-include="closest form"
          hx-target="#preview"
          hx-sync="this:replace"
        >
          <SourceField name="subject" label="Subject" value={fields.subject} rows={1} faults={faults} />
          <SourceField name="html" label="HTML" value={fields.html} rows={14} faults={faults} />
          <SourceField name="text" label="Text" value={fields.text} rows={7} faults={faults} />
          <VariableRows
            rows={rowsToFill(fields.variables)}
            faults={faults}
            previewAt={previewAt}
            hasNewRow={hasNewRow}
          />
          <Samples fields={fields} variables={preview?.variables ?? asGiven(fields)} faults={faults} />
        </div>
        <div class="editor-preview">
          <h2>Preview</h2>
          <div id="preview" aria-live="polite">
            <PreviewBody context={context} at={at} preview={preview} />
          </div>
        </div>
        <p class="actions">
          <button type="submit" class="primary">
            Save the draft
          </button>
          <PreviewButton previewAt={previewAt} />
          <LinkButton href={context.to(at)} label="Cancel" />
        </p>
      </PostForm>
    </>
  );
};

interface PreviewButtonProps {
  /** The address that previews. */
  readonly previewAt: string;
  readonly isHidden?: boolean;
}

const PreviewButton: FC<PreviewButtonProps> = ({ previewAt, isHidden }) => (
  <button
    type="submit"
    name={ROWS_FIELD}
    value={UNDECLARED_ROWS}
    formaction={previewAt}
    formnovalidate
    hidden={isHidden}
    hx-post={previewAt}
    hx-target="#preview"
  >
    Preview
  </button>
);

interface FaultSlotProps {
  /** The field's id. */
  readonly id: string;
  readonly faults: FieldFaults;
  /** Replaces the slot on the page. */
  readonly isAnew?: boolean;
}

/** The fault of a field; empty without one, to be filled later. */
const FaultSlot: FC<FaultSlotProps> = ({ id, faults, isAnew }) => (
  <span class="fault" id={`${id}-fault`} hx-swap-oob={isAnew ? "true" : undefined}>
    {faults.get(id) ?? ""}
  </span>
);

interface SourceFieldProps {
  readonly name: "subject" | "html" | "text";
  readonly label: string;
  readonly value: string;
  readonly rows: number;
  readonly faults: FieldFaults;
}

const SourceField: FC<SourceFieldProps> = ({ name, label, value, rows, faults }) => (
  <p class="field">
    <label for={name}>{label}</label>
    <textarea
      id={name}
      name={name}
      rows={rows}
      class="code"
      aria-describedby={`${name}-fault`}
      aria-invalid={faults.has(name) ? "true" : undefined}
      spellcheck={false}
    >
      {`\n${value}`}
    </textarea>
    <FaultSlot id={name} faults={faults} />
  </p>
);

interface VariableRowsProps {
  readonly rows: readonly VariableFields[];
  readonly faults: FieldFaults;
  /** The address that previews, and adds a row. */
  readonly previewAt: string;
  readonly hasNewRow: boolean | undefined;
  /** Replaces the rows on the page. */
  readonly isAnew?: boolean;
}

const VariableRows: FC<VariableRowsProps> = ({ rows, faults, previewAt, hasNewRow, isAnew }) => {
  const next = hasNewRow ? rows.findIndex(({ name }) => name === "") : -1;
  return (
    <fieldset id="variables" hx-swap-oob={isAnew ? "true" : undefined}>
      <legend>Variables</legend>
      <p class="hint">
        What the subject, the HTML and the text use as {"{{ name }}"}. Preview adds a row for each name that
        has none yet.
      </p>
      {rows.map((row, index) => (
        <VariableRow row={row} index={index} faults={faults} isNext={index === next} />
      ))}
      <FaultSlot id="draft" faults={faults} />
      <p>
        <button
          type="submit"
          name={ROWS_FIELD}
          value={ANOTHER_ROW}
          formaction={previewAt}
          formnovalidate
          hx-post={previewAt}
          hx-target="#preview"
        >
          Add a variable
        </button>
      </p>
    </fieldset>
  );
};

interface VariableRowProps {
  readonly row: VariableFields;
  readonly index: number;
  readonly faults: FieldFaults;
  /** Whether it is to be filled next. */
  readonly isNext: boolean;
}

const VariableRow: FC<VariableRowProps> = ({ row, index, faults, isNext }) => {
  const id = `variable-${index}`;
  const nth = `of variable ${index + 1}`;
  const isInvalid = faults.has(id) ? "true" : undefined;
  return (
    <div class="variable">
      <input
        name={`name-${index}`}
        value={row.name}
        placeholder="name"
        aria-label={`Name ${nth}`}
        aria-describedby={`${id}-fault`}
        aria-invalid={isInvalid}
        autofocus={isNext}
        autocomplete="off"
        spellcheck={false}
      />
      <select name={`type-${index}`} aria-label={`Type ${nth}`}>
        {VARIABLE_TYPES.map((type) => (
          <option value={type} selected={type === row.type}>
            {type}
          </option>
        ))}
      </select>
      <input
        name={`default-${index}`}
        value={row.fallback}
        placeholder="default"
        aria-label={`Default ${nth}`}
        autocomplete="off"
        spellcheck={false}
      />
      <label class="check">
        <input
          type="checkbox"
          name={`required-${index}`}
          value="yes"
          checked={row.isRequired}
          aria-label={`Variable ${index + 1} is required`}
        />
        <span>required</span>
      </label>
      <FaultSlot id={id} faults={faults} />
    </div>
  );
};

interface SamplesProps {
  readonly fields: DraftFields;
  readonly variables: readonly VariableDefinition[];
  readonly faults: FieldFaults;
  readonly isAnew?: boolean;
}

/** While the definitions are wrong, keeps the given samples as they are. */
function asGiven({ samples }: DraftFields): readonly VariableDefinition[] {
  return [...samples.keys()].map((name) => ({ name, type: "string", required: false }));
}

/** The names and types that the sample fields were made for. */
function signatureOf(variables: readonly VariableDefinition[]): string {
  return variables.map(({ name, type, required }) => `${name}:${type}:${required ? 1 : 0}`).join(" ");
}

/** A field for each variable, to try the draft with. */
const Samples: FC<SamplesProps> = ({ fields: { samples }, variables, faults, isAnew }) => (
  <fieldset id="samples" hx-swap-oob={isAnew ? "true" : undefined}>
    <legend>Sample values</legend>
    <input type="hidden" name="samples_of" value={signatureOf(variables)} />
    {variables.length === 0 ? (
      <p class="hint">Each variable gets a field here, to try the draft with.</p>
    ) : null}
    {variables.map((definition) => (
      <SampleField definition={definition} samples={samples} faults={faults} />
    ))}
  </fieldset>
);

interface SampleFieldProps {
  readonly definition: VariableDefinition;
  readonly samples: DraftFields["samples"];
  readonly faults: FieldFaults;
}

/** The sample value of one variable, as text. */
export const SampleField: FC<SampleFieldProps> = ({ definition, samples, faults }) => {
  const id = SAMPLE_PREFIX + definition.name;
  return (
    <p class="field">
      <label for={id}>
        {definition.name} <span class="soft">{definition.type}</span>
      </label>
      <input
        id={id}
        name={id}
        value={sampleText(definition, samples)}
        aria-describedby={`${id}-fault`}
        aria-invalid={faults.has(id) ? "true" : undefined}
        autocomplete="off"
        spellcheck={false}
      />
      <FaultSlot id={id} faults={faults} />
    </p>
  );
};

const FRAME = "template-preview";

const PreviewBody: FC<Pick<DraftEditorProps, "context" | "at" | "preview">> = ({ context, at, preview }) => {
  if (preview === null) return <p class="soft">Write a subject, and HTML or text.</p>;
  const { output } = preview;
  if (output === null) return <p class="fault">Correct the errors in the fields to see a preview.</p>;
  return (
    <>
      <p class="preview-subject">{output.subject}</p>
      {output.html === null ? (
        <p class="soft">It has no HTML.</p>
      ) : (
        <>
          <button
            type="submit"
            formaction={context.to(`${at}/draft/frame`)}
            formtarget={FRAME}
            formnovalidate
            data-into-frame
          >
            Show the HTML
          </button>
          <iframe name={FRAME} title="The HTML as recipients see it" sandbox="allow-popups" />
        </>
      )}
      <h3>Text</h3>
      {output.text === null ? <p class="soft">It has no text.</p> : <pre class="source">{output.text}</pre>}
    </>
  );
};

interface LivePreviewProps {
  readonly context: PageContext;
  readonly fields: DraftFields;
  readonly preview: DraftPreview;
  /** The signature of the sample fields on the page. */
  readonly before: string;
  /** Whether it replaces the rows of variables too, because a button has asked for some. */
  readonly hasRows: boolean;
  readonly hasNewRow: boolean;
}

/** What changes on the page while somebody types: the preview, the faults, and the samples if the variables changed. */
export const LivePreview: FC<LivePreviewProps> = (props) => {
  const { context, fields, preview, before, hasRows, hasNewRow } = props;
  const { variables, faults } = preview;
  const hasOthers = variables !== null && signatureOf(variables) !== before;
  const samples = hasOthers ? [] : [...fields.samples.keys()].map((name) => SAMPLE_PREFIX + name);
  const rows = hasRows ? [] : ["draft", ...fields.variables.map((_row, index) => `variable-${index}`)];
  const at = `/templates/${context.params.id ?? ""}`;
  return (
    <>
      <PreviewBody context={context} at={at} preview={preview} />
      {["subject", "html", "text", ...rows, ...samples].map((id) => (
        <FaultSlot id={id} faults={faults} isAnew />
      ))}
      {hasRows ? (
        <VariableRows
          rows={rowsToFill(fields.variables)}
          faults={faults}
          previewAt={context.to(`${at}/draft/preview`)}
          hasNewRow={hasNewRow}
          isAnew
        />
      ) : null}
      {hasOthers ? <Samples fields={fields} variables={variables} faults={faults} isAnew /> : null}
    </>
  );
};
