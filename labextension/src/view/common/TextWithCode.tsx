/** Shows a sentence of the server, in which code stands between backticks, as in Markdown. Nothing else is Markdown. */

import * as React from 'react';

/** Matches a piece of code with its backticks. */
const CODE = /(`[^`\n]+`)/;

/** The sentence. The backticks are not shown: what stands between them has the font of code. */
export function TextWithCode({ text }: { readonly text: string }): React.ReactElement {
  return (
    <>
      {text.split(CODE).map((part, index) =>
        // The parts at odd places are those that `CODE` has matched.
        index % 2 === 1 ? (
          <code key={index}>{part.slice(1, -1)}</code>
        ) : (
          <React.Fragment key={index}>{part}</React.Fragment>
        )
      )}
    </>
  );
}
