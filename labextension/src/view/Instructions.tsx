/**
 * Shows the instructions for the assistant that are stored in the active notebook, and lets the user edit them.
 *
 * This module knows no notebook: `notebook/instructions.ts` reads and writes the metadata of the notebook.
 */

import * as React from 'react';

import { createElement } from './common/element';
import { useEnv } from './common/env';

/** The instructions of one notebook: what the assistant should know or do in its chats. */
export interface NotebookInstructions {
  /** The path of the notebook. */
  readonly path: string;
  /** The name of the notebook's file. */
  readonly name: string;
  /** The instructions; empty when the notebook has none. */
  readonly text: string;
  /** Whether the notebook is trusted. Otherwise its instructions are not sent to a model. */
  readonly trusted: boolean;
}

/** Reads and writes the instructions of the active notebook. */
export interface InstructionsSource {
  /** Calls `subscriber` whenever the instructions have changed. The returned function ends that. */
  readonly subscribe: (subscriber: () => void) => () => void;
  /** Returns the instructions; undefined when no notebook is active. */
  readonly current: () => NotebookInstructions | undefined;
  /** Writes the instructions into the notebook at `path`. */
  readonly save: (path: string, text: string) => void;
}

/** The instructions of the active notebook; nothing when no notebook is active. */
export function Instructions({ source }: { readonly source: InstructionsSource }): React.ReactElement | null {
  const instructions = React.useSyncExternalStore(source.subscribe, source.current);
  // With another key, React creates the editor again. So what was typed is discarded when another notebook is active,
  // or when the instructions were changed elsewhere.
  return instructions === undefined ? null : (
    <InstructionsEditor
      key={`${instructions.path}\n${instructions.text}`}
      instructions={instructions}
      onSave={source.save}
    />
  );
}

interface Props {
  /** The instructions to edit. */
  readonly instructions: NotebookInstructions;
  /** Writes the edited text into the notebook. */
  readonly onSave: InstructionsSource['save'];
}

/** The line that opens the instructions, and the field in which they are edited. */
export function InstructionsEditor({ instructions, onSave }: Props): React.ReactElement {
  const { trans } = useEnv();
  const { path, name, text, trusted } = instructions;
  const [draft, setDraft] = React.useState(text);
  const isIgnored = text !== '' && !trusted;
  return (
    <details className="eca-Instructions">
      <summary>
        {text === '' ? trans.__('Add instructions for %1', name) : trans.__('Instructions for %1', name)}
        {isIgnored && ` (${trans.__('not used')})`}
      </summary>
      {isIgnored && (
        <p>{trans.__('The assistant does not read them until the notebook is trusted. Run its cells or trust it.')}</p>
      )}
      <textarea
        aria-label={trans.__('Instructions for %1', name)}
        dir="auto"
        rows={4}
        value={draft}
        onChange={event => {
          setDraft(event.target.value);
        }}
      />
      <button
        type="button"
        className="eca-Link"
        disabled={draft.trim() === text}
        onClick={() => {
          onSave(path, draft);
        }}
      >
        {trans.__('Save in the notebook')}
      </button>
    </details>
  );
}
