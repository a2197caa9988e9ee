/**
 * The panel as a widget: one session for each model and page, drawn wherever the model is shown.
 *
 * Knows no Lab: it also runs in VS Code, Colab and Voilà. Its link through the kernel is `channel.ts`.
 */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import '../../style/panel.css';
import './widget.css';

import { Drafts } from '../chat/drafts';
import { fetchWholeOutput } from '../chat/tool_output';
import { ChatId } from '../wire/protocol';
import { Session } from '../chat/session';
import { Surroundings } from '../view/App';
import { Env } from '../view/common/env';
import { InstructionsSource } from '../view/Instructions';
import { openChannel } from './channel';
import { pathOf } from '../render/sanitize';
import { createMarkdownRenderer } from './markdown';
import { findTypesetter, Widget, WidgetModel } from './model';
import { callLater, newId } from './page';
import { hideRecord } from './record';
import { WidgetPanel } from './WidgetPanel';
import { untranslated } from './untranslated';

/** A widget cannot see the notebook around it. What the kernel knows about it is suggested at `@`. */
const NOWHERE: Surroundings = { subscribe: () => () => undefined, current: () => undefined, read: () => [] };
const NO_INSTRUCTIONS: InstructionsSource = {
  subscribe: () => () => undefined,
  current: () => undefined,
  save: () => undefined
};

class Panel {
  readonly session: Session;
  readonly drafts = new Drafts();
  readonly env: Env;
  private resumed = false;

  constructor(model: WidgetModel) {
    this.session = new Session({
      newId,
      callLater,
      open: async () => {
        const { link, chat, resumed } = await openChannel(model, newId(), callLater, () => {
          // Shown as lost until the kernel answers.
          this.session.dispatch({ type: 'connection', connection: 'lost' });
        });
        this.resumed = resumed;
        this.enter(chat, first);
        return link;
      }
    });
    const first = this.session.chat.id;
    const code = { copy: async (text: string) => navigator.clipboard.writeText(text), place: undefined };
    this.env = {
      trans: untranslated,
      code,
      markdown: createMarkdownRenderer(code, untranslated, findTypesetter(model)),
      fetchWholeOutput: id => fetchWholeOutput(this.session, id),
      openPath: path => {
        this.session.showMessage('info', path);
      },
      showCell: path => {
        this.session.showMessage('info', path);
      }
    };
    this.session.onOffer = offer => {
      this.session.showMessage(
        'info',
        offer.kind === 'link'
          ? `${offer.text} ${offer.url}`
          : untranslated.__('Sign in to %1 with /login', offer.server)
      );
    };
    void this.begin();
  }

  /**
   * Connect. If the server does not show the requested chat to this notebook, start a new one: it would refuse the old
   * id.
   */
  private async begin(): Promise<void> {
    const { session } = this;
    await session.connect();
    const { connection, list } = session.state;
    if (this.resumed && connection === 'open' && !list.some(({ id }) => id === session.chat.id)) {
      session.startChat();
      session.showMessage(
        'warning',
        untranslated.__(
          'That chat belongs to another notebook, or to this notebook under another path. This is a new chat.'
        ) +
          ' ' +
          untranslated.__('You find it in the side panel of JupyterLab, under All chats.')
      );
    }
  }

  /**
   * Show the chat of the notebook's cells, unless the reader is in another one already. This happens before the connection
   * is open, so that no question goes to the chat that is left. What was typed meanwhile goes along.
   */
  private enter(chatId: string, first: ChatId): void {
    const { chat } = this.session;
    if (chatId !== '' && chat.id === first && chat.seq === 0) {
      this.drafts.move(first, chatId);
      this.session.dispatch({ type: 'shown', chatId });
    }
  }
}

/** anywidget calls this once for each model. */
export default (): Widget => {
  let panel: Panel | undefined;
  return {
    initialize: ({ model }) => {
      panel = new Panel(model);
      return () => {
        panel?.session.close();
      };
    },
    render: ({ model, el }) => {
      el.classList.add('eca-Widget');
      // Keys in here must not be commands of the notebook around it.
      el.dataset.lmSuppressShortcuts = 'true';
      el.addEventListener('keydown', event => {
        event.stopPropagation();
      });
      const { session, drafts, env } = panel ?? new Panel(model);
      el.addEventListener('click', event => {
        const path = pathOf(event.target);
        if (path !== undefined) {
          env.openPath(path);
        }
      });
      const root = createRoot(el);
      root.render(
        <WidgetPanel
          env={env}
          session={session}
          drafts={drafts}
          surroundings={NOWHERE}
          instructions={NO_INSTRUCTIONS}
        />
      );
      const shown = hideRecord(el, hidden => {
        model.send({ record: hidden ? 'hidden' : 'shown' });
      });
      return () => {
        shown();
        root.unmount();
      };
    }
  };
};
