/**
 * Plain text of any size: the first part, and a button for more.
 *
 * Knows no Markdown: that is `Markdown.tsx`.
 */

import * as React from 'react';

import { toPlainText } from '../../render/format';
import { useEnv } from './env';
import { ExactText } from './ExactText';

const FIRST = 4000;
const MORE = 40_000;
/** Who approves should not have to ask for the end. */
const FIRST_EXACT = 40_000;

interface Props {
  readonly text: string;
  /** Whether every character counts, as in what somebody approves. */
  readonly exact?: boolean;
}

export const LongText = React.memo(function LongText({ text, exact = false }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [size, setSize] = React.useState(exact ? FIRST_EXACT : FIRST);
  // Cut before it is cleaned: it would take too long to clean ten megabytes and show four kilobytes.
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
            setSize(size + MORE);
          }}
        >
          {trans.__('Show more (%1 characters are hidden)', text.length - size)}
        </button>
      )}
    </div>
  );
});
