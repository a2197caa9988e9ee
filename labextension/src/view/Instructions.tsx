/**
 * The instructions that the active notebook carries for the assistant: shown, and edited here.
 *
 * Knows no notebook: `notebook/instructions.ts` reads and writes its metadata.
 */

import * as React from 'react';

import { useEnv } from './common/env';

/** The instructions of one notebook. Those of a notebook that is not `trusted` are not sent to a model. */
export interface NotebookInstructions {
  readonly path: string;
  readonly name: string;
  readonly words: string;
  readonly trusted: boolean;
}

export interface InstructionsSource {
  readonly subscribe: (watcher: () => void) => () => void;
  readonly current: () => NotebookInstructions | undefined;
  readonly save: (path: string, words: string) => void;
}

export function Instructions({ source }: { readonly source: InstructionsSource }): React.ReactElement | null {
  const found = React.useSyncExternalStore(source.subscribe, source.current);
  // For another notebook, or when the text was changed elsewhere, what was typed before is discarded.
  return found === undefined ? null : (
    <OfNotebook key={`${found.path}\n${found.words}`} found={found} onSave={source.save} />
  );
}

interface Props {
  readonly found: NotebookInstructions;
  readonly onSave: InstructionsSource['save'];
}

export function OfNotebook({ found, onSave }: Props): React.ReactElement {
  const { trans } = useEnv();
  const { path, name, words, trusted } = found;
  const [text, setText] = React.useState(words);
  const off = words !== '' && !trusted;
  return (
    <details className="eca-Instructions">
      <summary>
        {words === '' ? trans.__('Add instructions for %1', name) : trans.__('Instructions for %1', name)}
        {off && ` (${trans.__('not used')})`}
      </summary>
      {off && (
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
