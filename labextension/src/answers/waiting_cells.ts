/**
 * Shows the user a cell whose answer waits for a decision: it scrolls the notebook to the cell, or says below the
 * notebook which cell waits. If such a cell is deleted, the panel says so.
 *
 * Lab takes cells that are out of sight out of the page. After "Run all" it shows the last cell, so the card of an
 * earlier cell may be nowhere in the page. This module therefore looks at the output model of the cell. The card itself
 * is drawn by `widget/card.tsx`.
 */

import { CodeCell } from '@jupyterlab/cells';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { BoxLayout, Widget } from '@lumino/widgets';

import '../../style/waiting_cells.css';

import { setQuestionDeleted } from '../notebook/deleted_questions';
import { findWaitingCard } from './waiting_cards';

/** The CSS selector of a card in the output of a cell. */
const CARD = '.jp-OutputArea .eca-Widget';
/** The events of a user who goes to another place of the notebook, or types there. */
const ACTIONS = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;
/** The card must stay in view for this number of frames. After a long scroll Lab moves the cells for some time. */
const STEADY_FRAMES = 10;
/** A scroll that has not ended after this number of frames is begun again. */
const SCROLL_FRAMES = 60;

/** Shows the waiting cells of one notebook. */
export class WaitingCells {
  /** The cells whose card waits for the user, each with the id of its chat. */
  private readonly waiting = new Map<CodeCell, string>();
  /** The waiting cells that are in view. */
  private readonly inView = new Set<CodeCell>();
  /**
   * The cells that were run in this page, if the user has not turned to another cell since. Only these are scrolled to:
   * a user who has scrolled away, or types elsewhere, stays there.
   */
  private readonly awaited = new Set<unknown>();
  /** The cells that are being scrolled to. */
  private readonly revealing = new Set<CodeCell>();
  /** Reports whether the waiting cells are in view. It observes the card, or the cell as long as no card is drawn. */
  private readonly observer: IntersectionObserver;
  /** The cells by their observed elements. */
  private readonly targets = new Map<Element, CodeCell>();
  /** The note below the notebook; undefined while it is not shown. */
  private note: { readonly widget: Widget; readonly text: HTMLElement } | undefined;

  constructor(
    private readonly panel: NotebookPanel,
    private readonly trans: TranslationBundle
  ) {
    this.observer = new IntersectionObserver(entries => {
      for (const { target, isIntersecting } of entries) {
        const cell = this.targets.get(target);
        if (cell !== undefined) {
          this.inView[isIntersecting ? 'add' : 'delete'](cell);
        }
      }
      this.updateNote();
    });
    const handleRun = (_: unknown, { notebook, cell }: { notebook: unknown; cell: unknown }): void => {
      if (notebook === panel.content) {
        this.awaited.add(cell);
      }
    };
    NotebookActions.executionScheduled.connect(handleRun);
    const handleAction = ({ target }: Event): void => {
      for (const cell of this.awaited) {
        if (!(cell instanceof CodeCell && target instanceof Node && cell.node.contains(target))) {
          this.awaited.delete(cell);
        }
      }
    };
    for (const type of ACTIONS) {
      panel.node.addEventListener(type, handleAction, { capture: true, passive: true });
    }
    panel.disposed.connect(() => {
      NotebookActions.executionScheduled.disconnect(handleRun);
      this.observer.disconnect();
      this.waiting.clear();
    });
  }

  /** Find out whether a cell waits. Called whenever its outputs change. */
  update(cell: CodeCell): void {
    const chat = cell.isDisposed ? undefined : findWaitingCard(cell.model.outputs)?.chat;
    if ((chat !== undefined) === this.waiting.has(cell)) {
      return;
    }
    if (chat !== undefined) {
      const { id } = cell.model;
      this.waiting.set(cell, chat);
      setQuestionDeleted(chat, false);
      this.observe(cell, cell.node);
      cell.disposed.connect(() => {
        if (this.waiting.has(cell)) {
          this.remove(cell);
          // A cell that is moved is also removed, and added again. When a notebook is closed, its kernel goes on, and
          // its cells are still there.
          setQuestionDeleted(chat, !this.panel.isDisposed && !this.hasCell(id));
        }
      });
      if (this.awaited.has(cell)) {
        void this.reveal(cell, () => this.awaited.has(cell));
      }
    } else {
      this.remove(cell);
    }
  }

  /** Return whether the notebook has a cell with this id. */
  private hasCell(id: string): boolean {
    return this.panel.content.model?.sharedModel.cells.some(cell => cell.id === id) !== false;
  }

  /** Forget a cell that waits no more. */
  private remove(cell: CodeCell): void {
    this.waiting.delete(cell);
    this.inView.delete(cell);
    for (const [target, observed] of this.targets) {
      if (observed === cell) {
        this.observer.unobserve(target);
        this.targets.delete(target);
      }
    }
    this.updateNote();
  }

  /** Observe an element of a cell, and no other element of it. */
  private observe(cell: CodeCell, target: Element): void {
    for (const [other, observed] of this.targets) {
      if (observed === cell && other !== target) {
        this.observer.unobserve(other);
        this.targets.delete(other);
      }
    }
    if (!this.targets.has(target)) {
      this.targets.set(target, cell);
      this.observer.observe(target);
    }
  }

  /**
   * Scroll until the card of a cell is in view and stays there. Returns the card; undefined when the cell waits no
   * more, or `isWanted` returns false.
   */
  private async reveal(cell: CodeCell, isWanted: () => boolean): Promise<HTMLElement | undefined> {
    const { content } = this.panel;
    const isNeeded = (): boolean => this.waiting.has(cell) && isWanted();
    this.revealing.add(cell);
    let card: HTMLElement | null = null;
    for (let steadyFrames = 0; steadyFrames < STEADY_FRAMES && isNeeded();) {
      card = cell.node.isConnected ? cell.node.querySelector<HTMLElement>(CARD) : null;
      if (!cell.node.isConnected) {
        // Lab rejects this when another scroll begins, and may never resolve it when the notebook is drawn anew.
        const scroll = content.scrollToItem(content.widgets.indexOf(cell), 'smart').catch(() => undefined);
        await Promise.race([scroll, waitForFrames(SCROLL_FRAMES)]);
      } else if (card === null || !isInside(card, content.node)) {
        (card ?? cell.node).scrollIntoView({ block: 'nearest' });
        steadyFrames = 0;
      } else {
        this.observe(cell, card);
        steadyFrames += 1;
      }
      await waitForFrames(1);
    }
    this.revealing.delete(cell);
    this.updateNote();
    return isNeeded() ? (card ?? undefined) : undefined;
  }

  /** If a waiting cell is out of view, show its number in the note. Otherwise remove the note. */
  private updateNote(): void {
    const { panel, trans } = this;
    const hidden = [...this.waiting.keys()].find(cell => !this.inView.has(cell) && !this.revealing.has(cell));
    if (hidden === undefined || panel.isDisposed) {
      const hadFocus = this.note?.widget.node.contains(document.activeElement) === true;
      this.note?.widget.dispose();
      this.note = undefined;
      if (hadFocus && !panel.isDisposed) {
        panel.content.activate();
      }
      return;
    }
    this.note ??= this.createNote();
    const text = trans.__('Cell %1 waits for you', panel.content.widgets.indexOf(hidden) + 1);
    // The same text is not set again, because a screen reader would say it again.
    if (this.note.text.textContent !== text) {
      this.note.text.textContent = text;
    }
  }

  /** Create the note below the notebook, so that the cells do not move when it appears. */
  private createNote(): { readonly widget: Widget; readonly text: HTMLElement } {
    const widget = new Widget();
    widget.addClass('eca-WaitingNote');
    const text = document.createElement('span');
    text.setAttribute('role', 'status');
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'eca-WaitingNote-button';
    button.textContent = this.trans.__('Go to the cell');
    button.addEventListener('click', () => {
      const cell = [...this.waiting.keys()].find(candidate => !this.inView.has(candidate));
      if (cell !== undefined) {
        void this.goTo(cell);
      }
    });
    widget.node.append(text, button);
    BoxLayout.setStretch(widget, 0);
    (this.panel.layout as BoxLayout).addWidget(widget);
    return { widget, text };
  }

  /** Show the card of a cell and give it the focus. The next Tab goes to its first button. */
  private async goTo(cell: CodeCell): Promise<void> {
    const card = await this.reveal(cell, () => true);
    if (card !== undefined) {
      card.tabIndex = -1;
      card.focus({ preventScroll: true });
    }
  }
}

/** Wait until the page has been drawn this number of times. */
async function waitForFrames(count: number): Promise<void> {
  for (let frame = 0; frame < count; frame++) {
    await new Promise(requestAnimationFrame);
  }
}

/**
 * Return whether the whole element is visible in `viewport` or, if it is higher than the viewport, fills the viewport.
 */
function isInside(element: HTMLElement, viewport: HTMLElement): boolean {
  const { top, bottom, height } = element.getBoundingClientRect();
  const view = viewport.getBoundingClientRect();
  const visible = Math.min(bottom, view.bottom) - Math.max(top, view.top);
  // Two pixels may be missing, because positions of elements are fractions of pixels.
  return height > 0 && visible > Math.min(height, view.height) - 2;
}
