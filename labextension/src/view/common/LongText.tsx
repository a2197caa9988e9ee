/**
 * Shows plain text of any length: the first part, and a button that shows more.
 *
 * This module knows no Markdown: Markdown is drawn by `Markdown.tsx`.
 */

import * as React from 'react';

import { toPlainText } from '../../render/format';
import { useEnv } from './env';
import { ExactText } from './ExactText';

/** The number of characters that are shown at first: a few screens. */
const FIRST_LENGTH = 4000;
/** The number of characters that the button adds. */
const ADDED_LENGTH = 40_000;
/** The number of characters that are shown at first of an exact text. It is high, so that the user sees its end too. */
const FIRST_EXACT_LENGTH = 40_000;

interface Props {
  readonly text: string;
  /**
   * Whether the user decides about the text, for example the arguments of a call that waits for approval. Then
   * invisible characters are shown as their codes, see `ExactText.tsx`. Otherwise control characters are removed.
   */
  readonly exact?: boolean;
}

/** The text, and a button as long as a part of the text is not shown. */
export const LongText = React.memo(function LongText({ text, exact = false }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [size, setSize] = React.useState(exact ? FIRST_EXACT_LENGTH : FIRST_LENGTH);
  // The text is cut first and cleaned then: to clean ten megabytes and show four kilobytes would take too long.
  const part = React.useMemo(() => text.slice(0, size), [text, size]);
  return (
    <div className="eca-LongText">
      <pre dir="auto" tabIndex={0}>
        {exact ? <ExactText text={part} /> : toPlainText(part)}
      </pre>
      {text.length > size && (
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            setSize(size + ADDED_LENGTH);
          }}
        >
          {trans.__('Show more (%1 characters are hidden)', text.length - size)}
        </button>
      )}
    </div>
  );
});
