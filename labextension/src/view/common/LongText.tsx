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
/**
 * The number of characters shown at first of a text that the user approves. It is high, so that the end is seen, too.
 */
const FIRST_EXACT_LENGTH = 40_000;

interface Props {
  readonly text: string;
  /** Whether no character may be hidden, because the user approves the text. */
  readonly exact?: boolean;
}

/** The text, and the button while a part of it is not shown. */
export const LongText = React.memo(function LongText({ text, exact = false }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [size, setSize] = React.useState(exact ? FIRST_EXACT_LENGTH : FIRST_LENGTH);
  // The text is cut before it is cleaned: it would take too long to clean ten megabytes and show four kilobytes.
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
