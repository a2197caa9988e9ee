/**
 * Draws the button that copies a whole answer. After a click, the button shows for a moment that the answer was copied.
 *
 * This module knows no transcript: the caller collects the text when the button is clicked.
 */

import * as React from 'react';

import { copyText, describeCopyFailure } from '../../render/copy_text';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { IconButton } from '../common/Icon';

/** For this time, in milliseconds, the button shows a success. A failure is shown until the next try. */
const SHOWN_MS = 2000;

/** Draws the button. `collect` returns the answer as Markdown. */
export function CopyAnswer({ collect }: { readonly collect: () => string }): React.ReactElement {
  const { trans } = useEnv();
  /** Whether the last try to copy has succeeded; undefined before a try, and again a moment after a success. */
  const [copied, setCopied] = React.useState<boolean>();
  const isCopied = copied === true;
  React.useEffect(() => {
    const timer = isCopied
      ? window.setTimeout(() => {
          setCopied(undefined);
        }, SHOWN_MS)
      : undefined;
    return () => {
      window.clearTimeout(timer);
    };
  }, [isCopied]);
  return (
    <>
      <IconButton
        icon={isCopied ? 'check' : 'copy'}
        label={isCopied ? trans.__('Copied') : trans.__('Copy this answer as Markdown')}
        onClick={() => {
          void copyText(collect()).then(setCopied);
        }}
      />
      {copied === false && (
        <span className="eca-Trouble" role="alert">
          {describeCopyFailure(trans)}
        </span>
      )}
    </>
  );
}
