/**
 * Defines the widget that shows the panel in the output of a cell. Each page has one session for each model of the
 * widget. All outputs of the page that show the same widget model share this session.
 *
 * The cell has a second output, the record: the text of the chat for readers of the saved notebook. It is hidden while
 * the panel is shown (`record.ts`).
 *
 * This module does not need Lab: it also runs in VS Code, Colab and Voilà. Its link goes through the kernel; see
 * `channel.ts`.
 */

import { createRoot } from 'react-dom/client';

import '../../style/panel.css';
import '../../style/code_tools.css';
import './widget.css';

import { Drafts } from '../chat/drafts';
import { TabStorage } from '../chat/tab_storage';
import { fetchWholeOutput } from '../chat/tool_output';
import { createElement } from '../view/common/element';
import { ChatId } from '../wire/protocol';
import { Session } from '../chat/session';
import { Surroundings } from '../view/App';
import { Env } from '../view/common/env';
import { InstructionsSource } from '../view/Instructions';
import { openChannel } from './channel';
import { findLinkedPath } from '../render/sanitize';
import { createMarkdownRenderer } from './markdown';
import { findNotebookPath, findTypesetter, Widget, WidgetModel } from './anywidget_types';
import { callLater, createId } from './page';
import { hideRecord } from './record';
import { WidgetPanel } from './WidgetPanel';
import { untranslated } from './untranslated';

/** A widget cannot read the notebook around it. The kernel provides the suggestions after `@`. */
const NO_SURROUNDINGS: Surroundings = {
  subscribe: () => () => undefined,
  current: () => undefined,
  readContexts: () => []
};
/** A widget shows no instructions of the notebook. */
const NO_INSTRUCTIONS: InstructionsSource = {
  subscribe: () => () => undefined,
  current: () => undefined,
  save: () => undefined
};

/** The objects that all outputs of a page with the same widget model share: the session and the drafts. */
class SharedPanel {
  readonly session: Session;
  /** What the user has typed in each chat and not sent. */
  readonly drafts: Drafts;
  /** The functions of the page that the views use. */
  readonly env: Env;
  /** Remembers the drafts and the chat after a reload of the page. */
  private readonly storage: TabStorage;
  /** Whether the panel was opened with the id of an earlier chat. */
  private isResumed = false;

  constructor(model: WidgetModel) {
    // In Voilà, the address of the page names the notebook.
    this.storage = new TabStorage(`widget ${findNotebookPath(model) ?? window.location.pathname}`);
    this.drafts = new Drafts(this.storage);
    this.session = new Session({
      createId,
      callLater,
      open: async () => {
        const { link, chat, resumed } = await openChannel(model, createId(), callLater, () => {
          // The connection is shown as lost until the kernel answers.
          this.session.dispatch({ type: 'connection', connection: 'lost' });
        });
        this.isResumed = resumed;
        this.showChatOfKernel(chat, firstChatId);
        return link;
      }
    });
    // The chat that the session begins with, until the kernel has said which one to show.
    const firstChatId = this.session.chat.id;
    // A widget does not know the cells of the notebook around it, so its blocks of code cannot be inserted.
    const codeTools = { target: undefined };
    this.env = {
      trans: untranslated,
      markdown: createMarkdownRenderer(codeTools, untranslated, findTypesetter(model)),
      fetchWholeOutput: id => fetchWholeOutput(this.session, id),
      // A widget cannot open a file or a notebook. It shows the path, so that the user can open it.
      openPath: path => {
        this.session.showMessage('info', path);
      },
      showCell: path => {
        this.session.showMessage('info', path);
      }
    };
    // The panel in Lab offers a link or a sign-in by a notification with a button. A widget shows it as a message.
    this.session.onOffer = offer => {
      this.session.showMessage(
        'info',
        offer.kind === 'link'
          ? `${offer.text} ${offer.url}`
          : untranslated.__('Sign in to %1 with /login', offer.server)
      );
    };
    void this.connectAndCheckChat();
  }

  /**
   * Connect. If the server does not list the requested chat for this notebook, start a new chat, because the server
   * would refuse a prompt with the old id.
   */
  private async connectAndCheckChat(): Promise<void> {
    const { session } = this;
    await session.connect();
    const { connection, list } = session.state;
    if (this.isResumed && connection === 'open' && !list.some(({ id }) => id === session.chat.id)) {
      session.startChat();
      session.showMessage(
        'warning',
        untranslated.__(
          'That chat belongs to another notebook, or to this notebook under another path. This is a new chat.'
        ) +
          ' ' +
          untranslated.__('The other chat is in the side panel of JupyterLab, under All chats.')
      );
    }
  }

  /**
   * Show the chat that the kernel names (`chatId`), unless the user has chosen another chat already. It is the earlier
   * chat with which the panel was opened or, if there is none, the chat of the notebook's cells. It is empty when there
   * is neither. `firstChatId` is the chat with which the session began. This happens before the connection is
   * open, so that no question is sent to that first chat. What was typed there is moved to the chat that is shown.
   *
   * After a reload of the page, the cells may have another chat: in Voilà a reload starts a new kernel. What was typed
   * in the earlier chat of the cells is then moved as well.
   */
  private showChatOfKernel(chatId: string, firstChatId: ChatId): void {
    const { chat } = this.session;
    // `seq` is the number of the last content. It is 0 in a chat in which nothing was sent.
    if (chatId !== '' && chat.id === firstChatId && chat.seq === 0) {
      // A resumed chat is not remembered as the chat of the cells, and takes no drafts from it.
      if (!this.isResumed) {
        // The stored chat is the chat of the cells before the reload.
        this.drafts.move(this.storage.getChat() ?? chatId, chatId);
        this.storage.setChat(chatId);
      }
      this.drafts.move(firstChatId, chatId);
      this.session.dispatch({ type: 'shown', chatId });
    }
  }
}

/** anywidget calls this once for each model. */
export default (): Widget => {
  let panel: SharedPanel | undefined;
  return {
    initialize: ({ model }) => {
      panel = new SharedPanel(model);
      return () => {
        panel?.session.close();
      };
    },
    render: ({ model, el }) => {
      el.classList.add('eca-Widget');
      // Otherwise the notebook around the widget would treat keys in here as commands.
      el.dataset.lmSuppressShortcuts = 'true';
      el.addEventListener('keydown', event => {
        event.stopPropagation();
      });
      // anywidget calls `initialize` first, so there is a panel. Only the type of `panel` allows that there is none.
      const { session, drafts, env } = panel ?? new SharedPanel(model);
      el.addEventListener('click', event => {
        const path = findLinkedPath(event.target);
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
          surroundings={NO_SURROUNDINGS}
          instructions={NO_INSTRUCTIONS}
        />
      );
      const showRecord = hideRecord(el, hidden => {
        model.send({ record: hidden ? 'hidden' : 'shown' });
      });
      return () => {
        showRecord();
        root.unmount();
      };
    }
  };
};
