/** The card of a cell as a widget: one session for each model and page, drawn wherever the model is shown. */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import { Session } from '../chat/session';
import { Deciding } from '../view/PendingDecisions';
import { Env, EnvProvider } from '../view/common/env';
import { openChannel } from './channel';
import { markdownInto } from './markdown';
import { Shown, Widget } from './model';
import { later, newId } from './page';
import { words } from './untranslated';

/** The kernel speaks first of the chat, then of what waits in it. */
export function cardSession(model: Shown['model']): Session {
  const session = new Session({
    newId,
    later,
    open: async () => {
      const { link, chat } = await openChannel(model, newId(), later, () => undefined);
      session.act({ type: 'shown', chatId: chat });
      return link;
    }
  });
  return session;
}

/** Without a way to write rules: a kernel, through which it would go, must not. */
function environment(): Env {
  const code = { copy: async (text: string) => navigator.clipboard.writeText(text), place: undefined };
  const nowhere = (): void => undefined;
  return {
    trans: words,
    code,
    markdown: markdownInto(code, words),
    openPath: nowhere,
    showCell: nowhere
  };
}

export function card(): Widget {
  let shown: { readonly session: Session; readonly env: Env } | undefined;
  return {
    initialize: ({ model }) => {
      const session = cardSession(model);
      shown = { session, env: environment() };
      void session.connect();
      return () => {
        session.close();
      };
    },
    render: ({ el }) => {
      el.classList.add('eca-Widget');
      // Keys that are typed in here are no commands of the notebook around it.
      el.dataset.lmSuppressShortcuts = 'true';
      el.addEventListener('keydown', event => {
        event.stopPropagation();
      });
      const root = createRoot(el);
      root.render(
        shown !== undefined && (
          <EnvProvider value={shown.env}>
            <Deciding
              session={shown.session}
              onDecide={() => {
                backToCell(el);
              }}
            />
          </EnvProvider>
        )
      );
      return () => {
        root.unmount();
      };
    }
  };
}

/** Whoever decides by the keyboard goes on where the card was. */
function backToCell(el: HTMLElement): void {
  if (el.contains(document.activeElement)) {
    el.closest<HTMLElement>('.jp-Cell')?.focus();
  }
}
