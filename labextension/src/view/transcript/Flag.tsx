/**
 * Flags at messages: set, show and remove them.
 *
 * What is sent to the server is in `chat/flags.ts`.
 */

import * as React from 'react';

import { toPlainText } from '../../render/format';
import { useEnv } from '../common/env';
import { Icon, IconButton } from '../common/Icon';

export function Flag({ text, contentId }: { readonly text: string; readonly contentId: string }): React.ReactElement {
  const { trans, flags } = useEnv();
  return (
    <p className="eca-Flag" dir="auto">
      <Icon name="flag" />
      <span>{toPlainText(text)}</span>
      {flags !== undefined && (
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
  readonly contentId: string;
  readonly onDone: () => void;
}

/** A flag without a text is allowed: it marks the message itself. */
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

function createFlagLabel(typed: string, none: string): string {
  return typed.trim() === '' ? none : typed.trim();
}
