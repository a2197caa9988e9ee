/**
 * Shows a text that the user approves, so that no character of it is hidden. A long run of empty lines becomes one line
 * with their number.
 *
 * `render/format.ts` decides which characters are shown as code points. Other texts are shown by `LongText.tsx`.
 */

import * as React from 'react';

import { splitAtEmptyLines, toExactText } from '../../render/format';
import { createElement } from './element';
import { useEnv } from './env';

/** The text, for an element that keeps spaces and line breaks. */
export function ExactText({ text }: { readonly text: string }): React.ReactElement {
  const { trans } = useEnv();
  return (
    <>
      {splitAtEmptyLines(toExactText(text)).map((part, index) =>
        typeof part === 'string' ? (
          part
        ) : (
          <span key={index} className="eca-EmptyLines">
            {trans.__('%1 empty lines', part)}
            {'\n'}
          </span>
        )
      )}
    </>
  );
}
