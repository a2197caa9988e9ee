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
import { Env, EnvProvider } from '../view/common/env';
import { InstructionsSource } from '../view/Instructions';

interface Props {
  readonly env: Env;
  readonly session: Session;
  readonly drafts: Drafts;
  readonly surroundings: Surroundings;
  readonly instructions: InstructionsSource;
}

/** The panel and the note above it. The props are those of `App`, and the `Env` of all views. */
export function WidgetPanel({ env, ...props }: Props): React.ReactElement {
  const { session } = props;
  const state = React.useSyncExternalStore(session.subscribe, () => session.state);
  const gone = state.connection === 'lost' || state.connection === 'absent';
  return (
    <EnvProvider value={env}>
      {gone && <KernelGone env={env} chat={session.chat.seq > 0 ? String(session.chat.id) : ''} />}
      <App {...props} />
    </EnvProvider>
  );
}

/** The note about a kernel that does not answer. `chat` is empty when there is no chat to continue. */
export function KernelGone({ env, chat }: { readonly env: Env; readonly chat: string }): React.ReactElement {
  const { trans } = env;
  const [failed, setFailed] = React.useState(false);
  // A kernel that was restarted has not loaded the extension. In any other kernel the first line does nothing.
  const lines = `%load_ext jupyter_eca\n%eca panel ${chat}`.trimEnd();
  return (
    <div className="eca-Gone" role="note">
      <span>
        {chat === ''
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
