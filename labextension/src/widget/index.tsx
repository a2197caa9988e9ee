/**
 * The panel as a widget: one session for each model and page, drawn wherever the model is shown.
 *
 * Knows no Lab: it also runs in VS Code, Colab and Voilà. Its link through the kernel is `channel.ts`.
 */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import '../../style/panel.css';
import './widget.css';

import { fetchWholeOutput } from '../chat/tool_output';
import { ChatId } from '../wire/protocol';
import { Session } from '../chat/session';
import { Surroundings } from '../view/App';
import { Env } from '../view/common/env';
import { InstructionsSource } from '../view/Instructions';
import { openChannel } from './channel';
import { createMarkdownRenderer } from './markdown';
import { Widget, WidgetModel } from './model';
import { callLater, newId } from './page';
import { hideRecord } from './record';
import { WidgetPanel } from './WidgetPanel';
import { untranslated } from './untranslated';

/** There is no notebook to be seen from in here: what the kernel knows of it, `@` offers. */
const NOWHERE: Surroundings = { subscribe: () => () => undefined, current: () => undefined, read: () => [] };
const NO_INSTRUCTIONS: InstructionsSource = {
  subscribe: () => () => undefined,
  current: () => undefined,
  save: () => undefined
};

class Panel {
  readonly session: Session;
  readonly env: Env;
  private resumed = false;

  constructor(model: WidgetModel) {
    this.session = new Session({
      newId,
      callLater,
      open: async () => {
        const { link, chat, resumed } = await openChannel(model, newId(), callLater, () => {
          // Until the kernel answers after all.
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
      markdown: createMarkdownRenderer(code, untranslated),
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

  /** A chat that the server does not show to this notebook is not begun anew under its name: it would refuse that. */
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
   * Into the chat that the cells ask in, where the reader is in no other yet: before the connection is open, and with
   * it the prompt box, so that nothing is asked in the chat that is left.
   */
  private enter(chatId: string, first: ChatId): void {
    const { chat } = this.session;
    if (chatId !== '' && chat.id === first && chat.seq === 0) {
      this.session.dispatch({ type: 'shown', chatId });
    }
  }
}

/** anywidget calls it once for each model. */
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
      // Keys that are typed in here are no commands of the notebook around it.
      el.dataset.lmSuppressShortcuts = 'true';
      el.addEventListener('keydown', event => {
        event.stopPropagation();
      });
      const { session, env } = panel ?? new Panel(model);
      const root = createRoot(el);
      root.render(<WidgetPanel env={env} session={session} surroundings={NOWHERE} instructions={NO_INSTRUCTIONS} />);
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
