/**
 * Shows a sentence of the server that may contain code between backticks, as in Markdown. No other Markdown is
 * interpreted.
 */

import * as React from 'react';

import { createElement } from './element';

/** Matches a piece of code with its backticks. */
const CODE = /(`[^`\n]+`)/;

/** Draws the sentence. The text between two backticks has the font of code, and the backticks are not shown. */
export function TextWithCode({ text }: { readonly text: string }): React.ReactElement {
  return (
    <>
      {text.split(CODE).map((part, index) =>
        // `split` also returns the pieces that `CODE` has matched. They have the odd indexes.
        index % 2 === 1 ? (
          <code key={index}>{part.slice(1, -1)}</code>
        ) : (
          <React.Fragment key={index}>{part}</React.Fragment>
        )
      )}
    </>
  );
}
