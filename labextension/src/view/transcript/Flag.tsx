/**
 * Shows, sets and removes flags. A flag is a mark with a short text that the user adds to a message.
 *
 * `chat/flags.ts` sends the requests to the server.
 */

import * as React from 'react';

import { toPlainText } from '../../render/format';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { Icon, IconButton } from '../common/Icon';
import { useMayAsk } from '../common/rights';

/** Draws a flag, with a button that removes it. `contentId` is the id of the message. */
export function Flag({ text, contentId }: { readonly text: string; readonly contentId: string }): React.ReactElement {
  const { trans, flags } = useEnv();
  const mayAsk = useMayAsk();
  return (
    <p className="eca-Flag" dir="auto">
      <Icon name="flag" />
      <span>{toPlainText(text)}</span>
      {flags !== undefined && mayAsk && (
        <IconButton
          icon="close"
          label={trans.__('Remove the flag')}
          onClick={() => {
            flags.remove(contentId);
          }}
        />
      )}
    </p>
  );
}

interface FormProps {
  /** The id of the message. */
  readonly contentId: string;
  /** Called when the flag was set, or the user has cancelled. */
  readonly onDone: () => void;
}

/** Draws the form for a new flag. The text may be empty. */
export function FlagForm({ contentId, onDone }: FormProps): React.ReactElement {
  const { trans, flags } = useEnv();
  const box = React.useRef<HTMLInputElement>(null);
  return (
    <form
      className="eca-User-extents"
      onSubmit={event => {
        event.preventDefault();
        flags?.add(contentId, createFlagLabel(box.current?.value ?? '', trans.__('Flag')));
        onDone();
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onDone();
        }
      }}
    >
      <input ref={box} className="eca-Input" autoFocus dir="auto" aria-label={trans.__('Text of the flag')} />
      <button type="submit" className="eca-Button eca-mod-main">
        {trans.__('Set the flag')}
      </button>
      <button type="button" className="eca-Button" onClick={onDone}>
        {trans.__('Cancel')}
      </button>
    </form>
  );
}

/** Return what the user has typed as the text of a flag or, if that is empty, the default text. */
function createFlagLabel(typed: string, defaultText: string): string {
  return typed.trim() === '' ? defaultText : typed.trim();
}
