/**
 * Text that somebody approves, with every character of it. Long runs of empty lines are one line that counts them.
 *
 * Which characters are named is in `render/format.ts`. Text that nobody approves is in `LongText.tsx`.
 */

import * as React from 'react';

import { splitAtEmptyLines, toExactText } from '../../render/format';
import { useEnv } from './env';

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
