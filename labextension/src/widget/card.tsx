/**
 * Defines the widget that shows a card in the output of a cell: the tool calls and questions that wait for the user.
 * Each page has one session for each model of the widget. A session is the page's connection to the engine, which here
 * goes through the kernel (`channel.ts`).
 *
 * The card shows nothing else of the chat. Its view is `view/PendingDecisions.tsx`. The panel as a widget is
 * `index.tsx`.
 */

import { createRoot } from 'react-dom/client';

import { Session } from '../chat/session';
import { createElement } from '../view/common/element';
import { PendingDecisions } from '../view/PendingDecisions';
import { Env, EnvProvider } from '../view/common/env';
import { openChannel } from './channel';
import { createMarkdownRenderer } from './markdown';
import { WidgetView, Widget } from './anywidget_types';
import { callLater, createId } from './page';
import { untranslated } from './untranslated';

/**
 * Create the session of a card. The kernel first sends the id of the chat, and then the calls and questions that wait.
 */
export function createCardSession(model: WidgetView['model']): Session {
  const session = new Session({
    createId,
    callLater,
    open: async () => {
      const { link, chat } = await openChannel(model, createId(), callLater, () => undefined);
      session.dispatch({ type: 'shown', chatId: chat });
      return link;
    }
  });
  return session;
}

/**
 * Create the environment of the card's views. It has no approval rules, because requests to write them would go through
 * the kernel, and code in the kernel must not be able to write rules.
 */
function createEnv(): Env {
  // The card knows no notebook, so its blocks of code cannot be inserted.
  const codeTools = { target: undefined };
  const doNothing = (): void => undefined;
  return {
    trans: untranslated,
    markdown: createMarkdownRenderer(codeTools, untranslated),
    openPath: doNothing,
    showCell: doNothing
  };
}

/** Create the widget that anywidget shows as a card. */
export function createCard(): Widget {
  /** What the views need; undefined until anywidget has called `initialize`. */
  let card: { readonly session: Session; readonly env: Env } | undefined;
  return {
    initialize: ({ model }) => {
      const session = createCardSession(model);
      card = { session, env: createEnv() };
      void session.connect();
      return () => {
        session.close();
      };
    },
    render: ({ el }) => {
      el.classList.add('eca-Widget');
      // Otherwise the notebook around the widget would treat keys in here as commands.
      el.dataset.lmSuppressShortcuts = 'true';
      el.addEventListener('keydown', event => {
        event.stopPropagation();
      });
      const focusReturn = new FocusReturn(el);
      const root = createRoot(el);
      root.render(
        card !== undefined && (
          <EnvProvider value={card.env}>
            <PendingDecisions
              session={card.session}
              onDecide={() => {
                focusReturn.focus();
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

/**
 * Gives the focus back to the notebook after a decision, so that the user can continue there with the keyboard.
 *
 * A click on the card makes its cell the active one. If that cell stayed active, the next Shift+Enter would ask the
 * same question again. So the focus goes to the cell that was active before. This is usually the next cell, because
 * Shift+Enter makes it active. Lab makes the cell with the focus the active one.
 */
class FocusReturn {
  /**
   * The cell that was active before the card was clicked or got the focus; undefined if it was the cell of the card.
   */
  private previousCell: HTMLElement | undefined;

  constructor(private readonly el: HTMLElement) {
    // These listeners are called before those of the notebook, which make the cell of the card the active one.
    for (const type of ['mousedown', 'focusin']) {
      el.addEventListener(type, () => {
        this.rememberActiveCell();
      });
    }
  }

  /** If the card has the focus, give it to the cell in which the user continues. */
  focus(): void {
    const ownCell = this.el.closest<HTMLElement>('.jp-Cell');
    if (ownCell === null || !this.el.contains(document.activeElement)) {
      return;
    }
    const cells = this.listCells();
    const next = cells[cells.indexOf(ownCell) + 1];
    const target =
      this.previousCell !== undefined && cells.includes(this.previousCell) ? this.previousCell : (next ?? ownCell);
    this.previousCell = undefined;
    target.focus({ preventScroll: true });
  }

  /** Remember the active cell, unless it is the cell of the card. */
  private rememberActiveCell(): void {
    const ownCell = this.el.closest('.jp-Cell');
    const active = this.listCells().find(cell => cell.classList.contains('jp-mod-active'));
    if (active !== undefined && active !== ownCell) {
      this.previousCell = active;
    }
  }

  /** Return the cells of the notebook that are in the page, in their order. */
  private listCells(): readonly HTMLElement[] {
    return [...(this.el.closest('.jp-Notebook')?.querySelectorAll<HTMLElement>('.jp-Cell') ?? [])];
  }
}
