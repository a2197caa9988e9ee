/**
 * The button that copies a whole answer. For a moment, it shows that the answer is copied.
 *
 * This module knows no transcript: the caller collects the text when the button is clicked.
 */

import * as React from 'react';

import { useEnv } from '../common/env';
import { IconButton } from '../common/Icon';

/** How long the button shows that the text is copied. */
const SHOWN_MS = 2000;

export function CopyAnswer({ collect }: { readonly collect: () => string }): React.ReactElement {
  const { trans, code } = useEnv();
  const [copied, setCopied] = React.useState(false);
  React.useEffect(() => {
    const timer = copied
      ? window.setTimeout(() => {
          setCopied(false);
        }, SHOWN_MS)
      : undefined;
    return () => {
      window.clearTimeout(timer);
    };
  }, [copied]);
  return (
    <div className="eca-Answer-tools">
      <IconButton
        icon={copied ? 'check' : 'copy'}
        label={copied ? trans.__('Copied') : trans.__('Copy this answer as Markdown')}
        onClick={() => {
          void code.copy(collect()).then(() => {
            setCopied(true);
          });
        }}
      />
    </div>
  );
}
