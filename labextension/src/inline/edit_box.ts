/**
 * Draws the box with which the user lets the assistant rewrite a cell. The box is in this cell. First the user writes
 * an instruction. Then the box shows how many changes are proposed, and the user approves or rejects them.
 *
 * This module knows no server: `edit_cells.ts` sends the instruction, and passes the answer to the box.
 */

import { Widget } from '@lumino/widgets';
import { TranslationBundle } from '@jupyterlab/translation';

import '../../style/review.css';

import { CellDiff } from '../review/cell_diff';
import { RewriteContent } from '../wire/protocol';

/**
 * The status of the box. `asking`: the user writes the instruction. `writing`: the model writes its answer. `deciding`:
 * the changes wait for a decision of the user.
 */
export type EditStatus = 'asking' | 'writing' | 'deciding';

/** The functions that the buttons of the box call. */
export interface EditActions {
  /** Sends the instruction. Changes of an earlier answer about which the user has not decided are dropped. */
  readonly send: (instruction: string) => void;
  /** Lets the server end the running rewrite. */
  readonly stop: () => void;
  /** Removes the box and gives the focus back to the cell. */
  readonly close: () => void;
}

/** The box of one cell. */
export class EditBox extends Widget {
  /** What the box is doing. */
  private status: EditStatus = 'asking';
  /** The field for the instruction. */
  private readonly input = document.createElement('textarea');
  /** The line below the input, with the message and the buttons. */
  private readonly row = document.createElement('div');
  private readonly message = document.createElement('span');
  /** The source of the cell when the rewrite began. */
  private base = '';
  /** The text before the part that is rewritten, and the text after it. */
  private unchangedTexts: readonly [string, string] = ['', ''];
  /** The part of the answer that has arrived so far. */
  private answer = '';

  /** `diff` compares the cell with the answer. The box disposes it. */
  constructor(
    private readonly diff: CellDiff,
    private readonly trans: TranslationBundle,
    private readonly actions: EditActions
  ) {
    super();
    this.addClass('eca-CellEdit');
    this.node.setAttribute('role', 'dialog');
    this.node.setAttribute('aria-label', trans.__('Edit this cell'));
    // Otherwise Lab treats keys in a cell as its own shortcuts.
    this.node.dataset.lmSuppressShortcuts = 'true';
    this.node.addEventListener('keydown', this.handleKey);
    this.input.className = 'eca-CellEdit-box';
    this.input.rows = 1;
    this.input.dir = 'auto';
    this.input.placeholder = trans.__('How should this cell change?');
    this.input.setAttribute('aria-label', trans.__('Instruction'));
    this.row.className = 'eca-CellBar-head';
    this.message.className = 'eca-CellBar-words';
    this.message.setAttribute('role', 'status');
    this.node.append(this.input, this.row);
    diff.subscribers.add(this.handleDiff);
    this.setStatus('asking', trans.__('Enter to send, Escape to close'));
  }

  override dispose(): void {
    this.diff.dispose();
    super.dispose();
  }

  /** Give the focus to the field for the instruction. */
  focus(): void {
    this.input.focus();
  }

  /** Whether the model writes its answer. */
  get isWriting(): boolean {
    return this.status === 'writing';
  }

  /** Begin a rewrite of the cell: of its source, the model rewrites the characters from `from` up to `to`. */
  begin(source: string, from: number, to: number): void {
    this.base = source;
    this.unchangedTexts = [source.slice(0, from), source.slice(to)];
    this.answer = '';
    this.setStatus('writing', this.trans.__('Writing…'));
  }

  /** Handle a message of the server about the rewrite: its start, a part of the model's answer, its end or an error. */
  receive(content: RewriteContent): void {
    if (this.status !== 'writing') {
      return;
    }
    switch (content.type) {
      case 'started':
        break;
      case 'reasoning':
        this.message.textContent = this.trans.__('Thinking…');
        break;
      case 'text':
        this.message.textContent = this.trans.__('Writing…');
        this.showAnswer(this.answer + content.text);
        break;
      case 'replace':
        // This text replaces all parts of the answer that came before.
        this.showAnswer(content.text);
        break;
      case 'error':
        this.fail(content.message);
        break;
      case 'finished':
        this.finish();
    }
  }

  /** Show an error and drop the answer. Nothing was written into the cell. */
  fail(reason: string): void {
    if (this.isDisposed) {
      return;
    }
    this.diff.compare(this.base, this.base);
    this.setStatus('asking', reason);
    // The style sheet gives the box the colour of an error, which is that of removed lines.
    this.node.dataset.tone = 'removed';
  }

  /** Show the changes that the answer would make so far. */
  private showAnswer(answer: string): void {
    this.answer = answer;
    // `false`: the answer is incomplete, and the lines that it does not have yet do not count as removed.
    this.diff.compare(this.base, this.unchangedTexts[0] + answer, false);
  }

  /** Let the user decide about the complete answer. */
  private finish(): void {
    const hadFocus = this.node.contains(document.activeElement);
    this.setStatus('deciding', '');
    const [before, after] = this.unchangedTexts;
    this.diff.compare(this.base, before + this.answer + after);
    if (this.diff.hunks.length === 0) {
      this.setStatus('asking', this.trans.__('The answer changes nothing.'));
    } else if (hadFocus) {
      this.row.querySelector('button')?.focus();
    }
  }

  /** Called when the hunks have changed: update the number of changes, and close the box after the last decision. */
  private readonly handleDiff = (): void => {
    const count = this.diff.hunks.length;
    if (this.status !== 'deciding') {
      return;
    }
    if (count === 0 && this.diff.hasDecisions) {
      this.actions.close();
    } else if (count > 0) {
      const allEdited = this.diff.hunks.every(hunk => hunk.isEdited);
      this.message.textContent = allEdited
        ? this.trans.__('You have edited lines that would be replaced. Approve or reject each change in the cell.')
        : this.trans._n('%1 change proposed', '%1 changes proposed', count);
    }
  };

  /** Change the status, and show its text and its buttons. */
  private setStatus(status: EditStatus, text: string): void {
    const { trans, actions, diff } = this;
    this.status = status;
    delete this.node.dataset.tone;
    this.node.dataset.status = status;
    this.input.readOnly = status === 'writing';
    this.message.textContent = text;
    const send = (): void => {
      this.send();
    };
    // The buttons of each status: the label and the function that is called. The first button is the main one.
    const buttons: Readonly<Record<EditStatus, readonly (readonly [string, () => void])[]>> = {
      asking: [
        [trans.__('Edit'), send],
        [trans.__('Close'), actions.close]
      ],
      writing: [[trans.__('Stop'), this.cancel]],
      deciding: [
        [
          trans.__('Approve all'),
          () => {
            diff.applyAll();
          }
        ],
        [trans.__('Reject all'), this.cancel]
      ]
    };
    // The button with the focus is removed here. Without a new place, the focus would go to the page.
    const hadFocus = this.row.contains(document.activeElement);
    this.row.replaceChildren(this.message, ...buttons[status].map(createButton));
    if (hadFocus) {
      this.input.focus();
    }
  }

  /** Send the instruction, unless it is empty or the model is writing. */
  private send(): void {
    const instruction = this.input.value.trim();
    if (instruction !== '' && this.status !== 'writing') {
      this.actions.send(instruction);
    }
  }

  /**
   * Stop the rewrite if the model is writing, and close the box. Changes that the user has not approved were never
   * written into the cell, so nothing has to be restored.
   */
  private readonly cancel = (): void => {
    if (this.status === 'writing') {
      this.actions.stop();
    }
    this.actions.close();
  };

  /** Handle a key: Escape closes the box, and Enter in the input sends the instruction. */
  private readonly handleKey = (event: KeyboardEvent): void => {
    // For Lab's notebook, Enter means "edit the cell".
    event.stopPropagation();
    if (event.key === 'Escape') {
      event.preventDefault();
      this.cancel();
    } else if (event.key === 'Enter' && event.target === this.input && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.send();
    }
  };
}

/** Create a button. The button with the index 0 is the main button. */
function createButton([label, act]: readonly [string, () => void], index: number): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = `eca-Hunk-button${index === 0 ? ' eca-mod-main' : ''}`;
  button.textContent = label;
  button.addEventListener('click', act);
  return button;
}
