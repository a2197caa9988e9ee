/** The box in which a cell is rewritten to order: an instruction, then the answer as hunks to accept or reject. */

import { Widget } from '@lumino/widgets';
import { TranslationBundle } from '@jupyterlab/translation';

import '../../style/review.css';

import { CellDiff } from '../review/cell_diff';
import { RewriteContent } from '../wire/protocol';

/** `decide`: what came is there to be decided about. */
export type EditStatus = 'asking' | 'writing' | 'decide';

export interface EditActions {
  /** Sends the instruction; a rewrite under way is none any more. */
  readonly send: (instruction: string) => void;
  readonly stop: () => void;
  /** The box goes; the cell has the keyboard again. */
  readonly close: () => void;
}

export class CellEdit extends Widget {
  private status: EditStatus = 'asking';
  private readonly box = document.createElement('textarea');
  private readonly row = document.createElement('div');
  private readonly words = document.createElement('span');
  /** The text that is rewritten, what is around it and not, and the answer so far. */
  private base = '';
  private around: readonly [string, string] = ['', ''];
  private answer = '';

  constructor(
    private readonly diff: CellDiff,
    private readonly trans: TranslationBundle,
    private readonly actions: EditActions
  ) {
    super();
    this.addClass('eca-CellEdit');
    this.node.setAttribute('role', 'dialog');
    this.node.setAttribute('aria-label', trans.__('Edit this cell'));
    // Lab takes keys in a cell for its own.
    this.node.dataset.lmSuppressShortcuts = 'true';
    this.node.addEventListener('keydown', this.onKey);
    this.box.className = 'eca-CellEdit-box';
    this.box.rows = 1;
    this.box.dir = 'auto';
    this.box.placeholder = trans.__('How is this cell to be changed?');
    this.box.setAttribute('aria-label', trans.__('Instruction'));
    this.row.className = 'eca-CellBar-head';
    this.words.className = 'eca-CellBar-words';
    this.words.setAttribute('role', 'status');
    this.node.append(this.box, this.row);
    diff.watchers.add(this.decided);
    this.turn('asking', trans.__('Enter sends, Escape closes'));
  }

  override dispose(): void {
    this.diff.dispose();
    super.dispose();
  }

  focus(): void {
    this.box.focus();
  }

  get isWriting(): boolean {
    return this.status === 'writing';
  }

  /** `[from, to)` of the cell is what is to be rewritten. */
  begin(source: string, from: number, to: number): void {
    this.base = source;
    this.around = [source.slice(0, from), source.slice(to)];
    this.answer = '';
    this.turn('writing', this.trans.__('Writing…'));
  }

  received(content: RewriteContent): void {
    if (this.status !== 'writing') {
      return;
    }
    switch (content.type) {
      case 'started':
        break;
      case 'reasoning':
        this.words.textContent = this.trans.__('Thinking…');
        break;
      case 'text':
        this.words.textContent = this.trans.__('Writing…');
        this.came(this.answer + content.text);
        break;
      case 'replace':
        this.came(content.text);
        break;
      case 'error':
        this.fail(content.message);
        break;
      case 'finished':
        this.finish();
    }
  }

  /** The cell is as it was but for what the user wrote. */
  fail(why: string): void {
    if (this.isDisposed) {
      return;
    }
    this.diff.compare(this.base, this.base);
    this.turn('asking', why);
    this.node.dataset.tone = 'removed';
  }

  private came(answer: string): void {
    this.answer = answer;
    this.diff.compare(this.base, this.around[0] + answer, false);
  }

  private finish(): void {
    const had = this.node.contains(document.activeElement);
    this.turn('decide', '');
    this.diff.compare(this.base, this.around.join(this.answer));
    if (this.diff.hunks.length === 0) {
      this.turn('asking', this.trans.__('Nothing is different.'));
    } else if (had) {
      this.row.querySelector('button')?.focus();
    }
  }

  private readonly decided = (): void => {
    const count = this.diff.hunks.length;
    if (this.status !== 'decide') {
      return;
    }
    if (count === 0 && this.diff.begun) {
      this.actions.close();
    } else if (count > 0) {
      const touched = this.diff.hunks.every(hunk => hunk.touched);
      this.words.textContent = touched
        ? this.trans.__('You have written in what is to be replaced: decide about it in the cell')
        : this.trans._n('%1 change proposed', '%1 changes proposed', count);
    }
  };

  private turn(status: EditStatus, words: string): void {
    const { trans, actions, diff } = this;
    this.status = status;
    delete this.node.dataset.tone;
    this.node.dataset.status = status;
    this.box.readOnly = status === 'writing';
    this.words.textContent = words;
    const send = (): void => {
      this.send();
    };
    const buttons: Readonly<Record<EditStatus, readonly (readonly [string, () => void])[]>> = {
      asking: [
        [trans.__('Edit'), send],
        [trans.__('Close'), actions.close]
      ],
      writing: [[trans.__('Stop'), this.give]],
      decide: [
        [
          trans.__('Accept all'),
          () => {
            diff.applyAll();
          }
        ],
        [trans.__('Reject all'), this.give]
      ]
    };
    const had = this.row.contains(document.activeElement);
    this.row.replaceChildren(this.words, ...buttons[status].map(buttonOf));
    if (had) {
      this.box.focus();
    }
  }

  private send(): void {
    const instruction = this.box.value.trim();
    if (instruction !== '' && this.status !== 'writing') {
      this.actions.send(instruction);
    }
  }

  /** Nothing was written into the cell, so there is nothing to be put back. */
  private readonly give = (): void => {
    if (this.status === 'writing') {
      this.actions.stop();
    }
    this.actions.close();
  };

  private readonly onKey = (event: KeyboardEvent): void => {
    // Lab's notebook would take Enter for "write in the cell".
    event.stopPropagation();
    if (event.key === 'Escape') {
      event.preventDefault();
      this.give();
    } else if (event.key === 'Enter' && event.target === this.box && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.send();
    }
  };
}

function buttonOf([label, act]: readonly [string, () => void], n: number): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = `eca-Hunk-button${n === 0 ? ' eca-mod-main' : ''}`;
  button.textContent = label;
  button.addEventListener('click', act);
  return button;
}
