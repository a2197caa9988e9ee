/**
 * Shows plain text of any length: the first part, and a button that shows more.
 *
 * This module knows no Markdown: Markdown is drawn by `Markdown.tsx`.
 */

import * as React from 'react';

import { toPlainText } from '../../render/format';
import { createElement } from './element';
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

/** Draws the text, and a button that shows more while a part of the text is hidden. */
export const LongText = React.memo(function LongText({ text, exact = false }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [shownLength, setShownLength] = React.useState(exact ? FIRST_EXACT_LENGTH : FIRST_LENGTH);
  // The text is cut before it is cleaned: to clean ten megabytes and show four kilobytes of them would take too long.
  const part = React.useMemo(() => text.slice(0, shownLength), [text, shownLength]);
  return (
    <div className="eca-LongText">
      <pre dir="auto" tabIndex={0}>
        {exact ? <ExactText text={part} /> : toPlainText(part)}
      </pre>
      {text.length > shownLength && (
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            setShownLength(shownLength + ADDED_LENGTH);
          }}
        >
          {trans.__('Show more (%1 characters are hidden)', text.length - shownLength)}
        </button>
      )}
    </div>
  );
});
