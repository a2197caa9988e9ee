/**
 * Shows the panel in the output of a cell, with a note above it when the kernel does not answer.
 *
 * This module does not know how the page is connected with the kernel: `index.tsx` opens the connection.
 */

import * as React from 'react';

import { copyText, describeCopyFailure } from '../render/copy_text';
import { Drafts } from '../chat/drafts';
import { Session } from '../chat/session';
import { App, Surroundings } from '../view/App';
import { createElement } from '../view/common/element';
import { Env, EnvProvider } from '../view/common/env';
import { InstructionsSource } from '../view/Instructions';

interface Props {
  readonly env: Env;
  readonly session: Session;
  readonly drafts: Drafts;
  readonly surroundings: Surroundings;
  readonly instructions: InstructionsSource;
}

/** Draws the panel, and the note above it. The props are those of `App`, and the environment (`Env`) of the views. */
export function WidgetPanel({ env, ...props }: Props): React.ReactElement {
  const { session } = props;
  const state = React.useSyncExternalStore(session.subscribe, () => session.state);
  const isKernelLost = state.connection === 'lost' || state.connection === 'absent';
  return (
    <EnvProvider value={env}>
      {isKernelLost && <KernelLostNote env={env} chatId={session.chat.seq > 0 ? String(session.chat.id) : ''} />}
      <App {...props} />
    </EnvProvider>
  );
}

/** Draws the note about a kernel that does not answer. `chatId` is empty when there is no chat to continue. */
export function KernelLostNote({ env, chatId }: { readonly env: Env; readonly chatId: string }): React.ReactElement {
  const { trans } = env;
  const [failed, setFailed] = React.useState(false);
  // A kernel that was restarted has not loaded the extension. In any other kernel the first line does nothing.
  const lines = `%load_ext jupyter_eca\n%eca panel ${chatId}`.trimEnd();
  return (
    <div className="eca-Gone" role="note">
      <span>
        {chatId === ''
          ? trans.__('The kernel does not answer. It is busy or was restarted. To start again, run:')
          : trans.__(
              'The kernel does not answer. If it was restarted, this is a record of the chat. To continue the chat, run:'
            )}
      </span>
      <code>{lines}</code>
      <button
        type="button"
        className="eca-Button"
        onClick={() => {
          void copyText(lines).then(copied => {
            setFailed(!copied);
          });
        }}
      >
        {trans.__('Copy')}
      </button>
      {failed && <span role="alert">{describeCopyFailure(trans)}</span>}
    </div>
  );
}
