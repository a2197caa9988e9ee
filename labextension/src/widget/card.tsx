/**
 * The card of a cell as a widget: what waits for a decision of the user. One session for each model and page.
 *
 * Knows nothing of the rest of the chat; the view is `view/PendingDecisions.tsx`. The panel as a widget is `index.tsx`.
 */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import { Session } from '../chat/session';
import { PendingDecisions } from '../view/PendingDecisions';
import { Env, EnvProvider } from '../view/common/env';
import { openChannel } from './channel';
import { createMarkdownRenderer } from './markdown';
import { WidgetView, Widget } from './model';
import { callLater, newId } from './page';
import { untranslated } from './untranslated';

/** Create the session of a card. The kernel first names the chat, then sends what waits in it. */
export function createCardSession(model: WidgetView['model']): Session {
  const session = new Session({
    newId,
    callLater,
    open: async () => {
      const { link, chat } = await openChannel(model, newId(), callLater, () => undefined);
      session.dispatch({ type: 'shown', chatId: chat });
      return link;
    }
  });
  return session;
}

/**
 * Create the `Env` of a card. It cannot write approval rules: they would go through the kernel, which must not write
 * them.
 */
function createEnv(): Env {
  const code = { copy: async (text: string) => navigator.clipboard.writeText(text), place: undefined };
  const nowhere = (): void => undefined;
  return {
    trans: untranslated,
    code,
    markdown: createMarkdownRenderer(code, untranslated),
    openPath: nowhere,
    showCell: nowhere
  };
}

export function createCard(): Widget {
  let shown: { readonly session: Session; readonly env: Env } | undefined;
  return {
    initialize: ({ model }) => {
      const session = createCardSession(model);
      shown = { session, env: createEnv() };
      void session.connect();
      return () => {
        session.close();
      };
    },
    render: ({ el }) => {
      el.classList.add('eca-Widget');
      // Keys in here must not be commands of the notebook around it.
      el.dataset.lmSuppressShortcuts = 'true';
      el.addEventListener('keydown', event => {
        event.stopPropagation();
      });
      const root = createRoot(el);
      root.render(
        shown !== undefined && (
          <EnvProvider value={shown.env}>
            <PendingDecisions
              session={shown.session}
              onDecide={() => {
                focusCell(el);
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

/** Give the focus to the cell when a decision was made by the keyboard, so that the user can continue there. */
function focusCell(el: HTMLElement): void {
  if (el.contains(document.activeElement)) {
    el.closest<HTMLElement>('.jp-Cell')?.focus();
  }
}
