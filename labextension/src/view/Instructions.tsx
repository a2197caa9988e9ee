/**
 * Shows the instructions for the assistant that the active notebook carries, and lets the user edit them.
 *
 * This module knows no notebook: `notebook/instructions.ts` reads and writes the metadata of the notebook.
 */

import * as React from 'react';

import { useEnv } from './common/env';

/** The instructions of one notebook: what the assistant should know or do in its chats. */
export interface NotebookInstructions {
  readonly path: string;
  /** The name of the notebook's file. */
  readonly name: string;
  /** The instructions; empty when the notebook has none. */
  readonly words: string;
  /** Whether the notebook is trusted. Otherwise its instructions are not sent to a model. */
  readonly trusted: boolean;
}

/** Reads and writes the instructions of the active notebook. */
export interface InstructionsSource {
  readonly subscribe: (subscriber: () => void) => () => void;
  /** Returns the instructions; undefined when no notebook is active. */
  readonly current: () => NotebookInstructions | undefined;
  /** Writes the instructions into the notebook at `path`. */
  readonly save: (path: string, words: string) => void;
}

/** The instructions of the active notebook; nothing when no notebook is active. */
export function Instructions({ source }: { readonly source: InstructionsSource }): React.ReactElement | null {
  const found = React.useSyncExternalStore(source.subscribe, source.current);
  // With another key, React creates the editor again. So what was typed is discarded when another notebook is active,
  // or when the instructions were changed elsewhere.
  return found === undefined ? null : (
    <InstructionsEditor key={`${found.path}\n${found.words}`} found={found} onSave={source.save} />
  );
}

interface Props {
  /** The instructions to edit. */
  readonly found: NotebookInstructions;
  readonly onSave: InstructionsSource['save'];
}

/** The line that opens the instructions, and the field in which they are edited. */
export function InstructionsEditor({ found, onSave }: Props): React.ReactElement {
  const { trans } = useEnv();
  const { path, name, words, trusted } = found;
  const [text, setText] = React.useState(words);
  const isIgnored = words !== '' && !trusted;
  return (
    <details className="eca-Instructions">
      <summary>
        {words === '' ? trans.__('Add instructions for %1', name) : trans.__('Instructions for %1', name)}
        {isIgnored && ` (${trans.__('not used')})`}
      </summary>
      {isIgnored && (
        <p>{trans.__('The assistant does not read them until the notebook is trusted. Run its cells or trust it.')}</p>
      )}
      <textarea
        aria-label={trans.__('Instructions for %1', name)}
        dir="auto"
        rows={4}
        value={text}
        onChange={event => {
          setText(event.target.value);
        }}
      />
      <button
        type="button"
        className="eca-Link"
        disabled={text.trim() === words}
        onClick={() => {
          onSave(path, text);
        }}
      >
        {trans.__('Save in the notebook')}
      </button>
    </details>
  );
}
