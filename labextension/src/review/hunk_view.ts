/**
 * Draws hunks in an editor. A hunk is a group of neighbouring lines that differ from another text. Its lines in the
 * editor are coloured, and the other text is shown above or below them, with buttons. The other text is the old one
 * when a change was made (side `made`), and the new one when a change is proposed (side `proposed`).
 *
 * CodeMirror draws such things as decorations: a class for a line, a mark in a line, or a widget, which is an element
 * between lines. This module knows no cell: `hunk_painter.ts` decides which hunks are drawn in which editor.
 */

import { presentableDiff } from '@codemirror/merge';
import { EditorState, Range, StateEffect, StateField, Text } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView, WidgetType } from '@codemirror/view';

import { toExactText } from '../render/format';
import { Side } from './cell_diff';
import { Hunk } from './hunks';

/** A button of a hunk. */
export interface HunkButton {
  readonly label: string;
  /** Called with the id of the hunk. */
  readonly act: (id: number) => void;
}

/** How the hunks of a cell are drawn. */
export interface HunkStyle {
  /** Which text is in the editor: that of the assistant (`made`), or still that of the user (`proposed`). */
  readonly side: Side;
  /** The buttons of each hunk. */
  readonly buttons: readonly HunkButton[];
  /** The name of the other text, for a screen reader. */
  readonly caption: string;
  /** The note that is shown at a hunk whose lines the user has edited. */
  readonly editedNote: string;
  /** A button that leaves a hunk out, and takes it in again; undefined where hunks cannot be left out. */
  readonly leaveOut?: {
    /** The label of the button. */
    readonly label: string;
    /** The label of the button while the hunk is left out. */
    readonly takeInLabel: string;
    /** The note at a hunk that is left out. */
    readonly note: string;
    /** Called with the id of the hunk, and with whether it is to be left out. */
    readonly act: (id: number, isLeftOut: boolean) => void;
  };
}

/** The effect that replaces the decorations of an editor. */
const setDecorations = StateEffect.define<DecorationSet>();

/** The decorations in the state of an editor. When the text is edited, they move with it. */
const decorationField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    const replacement = transaction.effects.find(effect => effect.is(setDecorations));
    return replacement === undefined ? set.map(transaction.changes) : replacement.value;
  },
  provide: field => EditorView.decorations.from(field)
});

/**
 * Draw hunks in an editor, and remove those that were drawn before. Must not be called while the editor is updating.
 */
export function drawHunks(view: EditorView, hunks: readonly Hunk[], style: HunkStyle): void {
  // The text of the editor may already be shorter than the text for which the hunks were computed.
  const fittingHunks = hunks.filter(({ to }) => to <= view.state.doc.length);
  if (view.state.field(decorationField, false) === undefined) {
    if (fittingHunks.length === 0) {
      return;
    }
    view.dispatch({ effects: StateEffect.appendConfig.of(decorationField) });
  }
  view.dispatch({
    effects: setDecorations.of(
      Decoration.set(
        fittingHunks.flatMap(hunk => decorateHunk(view.state, hunk, style)),
        // CodeMirror has to sort them.
        true
      )
    )
  });
}

/**
 * Scroll to a hunk, and return its element; undefined when the hunk is not drawn. An editor draws only those lines that
 * can be seen, so the element of another hunk may not exist until then.
 */
export function revealHunk(view: EditorView, { id, from }: Hunk): Promise<HTMLElement | undefined> {
  view.dispatch({
    effects: EditorView.scrollIntoView(Math.min(from, view.state.doc.length), { y: 'nearest', yMargin: 40 })
  });
  return new Promise(resolve => {
    view.requestMeasure({
      read: () => {
        resolve(view.dom.querySelector<HTMLElement>(`.eca-Hunk[data-hunk='${String(id)}']`) ?? undefined);
      }
    });
  });
}

/** Two texts with more characters than this, together, are not compared letter by letter: it would take too long. */
const MAX_COMPARED_LENGTH = 5000;

/**
 * Return the decorations of a hunk: coloured lines, marks for changed letters, and the other text as a widget. `doc` is
 * the text of the editor.
 */
function decorateHunk({ doc }: EditorState, hunk: Hunk, style: HunkStyle): Range<Decoration>[] {
  const tone = style.side === 'made' ? 'added' : 'removed';
  const { from, to } = hunk;
  const ownText = doc.sliceString(from, to);
  const decorations: Range<Decoration>[] = [];
  // The ranges of letters that differ: `fromA` and `toA` in `ownText`, `fromB` and `toB` in the other text.
  const changes = isComparable(ownText, hunk.otherText) ? presentableDiff(ownText, hunk.otherText) : [];
  // The lines of a hunk that is left out of a proposal are not coloured, because they stay as they are.
  if (ownText !== '' && hunk.isLeftOut !== true) {
    // A line break at the beginning belongs to the line before the hunk, which is not coloured.
    const start = ownText.startsWith('\n') ? from + 1 : from;
    const last = doc.lineAt(ownText.endsWith('\n') && to > start ? to - 1 : to);
    for (let line = doc.lineAt(start); ; line = doc.line(line.number + 1)) {
      decorations.push(Decoration.line({ class: `eca-Hunk-line eca-mod-${tone}` }).range(line.from));
      if (line.number >= last.number) {
        break;
      }
    }
    for (const { fromA, toA } of changes) {
      if (toA > fromA) {
        decorations.push(Decoration.mark({ class: `eca-Hunk-part eca-mod-${tone}` }).range(from + fromA, from + toA));
      }
    }
  }
  const changedRanges = changes.map(({ fromB, toB }) => [fromB, toB] as const);
  const widget = new OtherTextWidget(hunk, style, changedRanges);
  // In CodeMirror the side 1 is below the line of the offset, and -1 above it.
  decorations.push(
    Decoration.widget({ widget, block: true, side: isBelow(hunk, ownText, style) ? 1 : -1 }).range(
      findOffset(doc, hunk, ownText, style)
    )
  );
  return decorations;
}

/** Whether the text of a hunk and the other text are compared letter by letter: neither is empty or too long. */
function isComparable(ownText: string, other: string): boolean {
  return ownText !== '' && other !== '' && ownText.length + other.length < MAX_COMPARED_LENGTH;
}

/**
 * Whether the other text is shown below the lines of the hunk. An old text is shown above the new text. `ownText` is
 * the text of the hunk in the editor. If it is empty, the hunk inserts lines: below the present line if they begin with
 * a line break, otherwise above that line.
 */
function isBelow({ otherText }: Hunk, ownText: string, { side }: HunkStyle): boolean {
  return ownText === '' ? otherText.startsWith('\n') : side === 'proposed';
}

/** Return the offset in the document at which the other text of a hunk is shown. `ownText`: see `isBelow`. */
function findOffset(doc: Text, hunk: Hunk, ownText: string, style: HunkStyle): number {
  if (!isBelow(hunk, ownText, style)) {
    return doc.lineAt(ownText.startsWith('\n') ? hunk.from + 1 : hunk.from).from;
  }
  return doc.lineAt(ownText.endsWith('\n') ? hunk.to - 1 : hunk.to).to;
}

/** The widget that each element shows now. CodeMirror keeps an element when a new widget can use it. */
const WIDGETS = new WeakMap<HTMLElement, OtherTextWidget>();

/**
 * The other text of a hunk, with its buttons. `changedRanges` are the ranges of letters in it that differ, each with
 * its first offset and the offset after its last letter. CodeMirror calls `eq`, `updateDOM`, `toDOM` and `ignoreEvent`.
 */
class OtherTextWidget extends WidgetType {
  constructor(
    private readonly hunk: Hunk,
    private readonly style: HunkStyle,
    private readonly changedRanges: readonly (readonly [number, number])[]
  ) {
    super();
  }

  override eq(that: OtherTextWidget): boolean {
    return this.hasSameContent(that) && that.hunk.isLeftOut === this.hunk.isLeftOut;
  }

  /** Keep the element when only the decision about the hunk has changed. So the focus stays on its button. */
  override updateDOM(dom: HTMLElement): boolean {
    const before = WIDGETS.get(dom);
    if (before === undefined || !this.hasSameContent(before)) {
      return false;
    }
    WIDGETS.set(dom, this);
    this.showDecision(dom);
    return true;
  }

  /** Whether another widget shows the same, except for the decision about the hunk. */
  private hasSameContent(that: OtherTextWidget): boolean {
    const { id, otherText, isEdited } = this.hunk;
    return (
      that.style === this.style &&
      that.hunk.id === id &&
      that.hunk.otherText === otherText &&
      that.hunk.isEdited === isEdited &&
      String(that.changedRanges) === String(this.changedRanges)
    );
  }

  /** Show whether the hunk is left out. */
  private showDecision(dom: HTMLElement): void {
    const { leaveOut } = this.style;
    const button = dom.querySelector('.eca-Hunk-leaveOut');
    const isLeftOut = this.hunk.isLeftOut === true;
    if (leaveOut !== undefined && button !== null) {
      dom.classList.toggle('eca-mod-out', isLeftOut);
      button.textContent = isLeftOut ? leaveOut.takeInLabel : leaveOut.label;
      const note = dom.querySelector('.eca-Hunk-decision');
      if (note !== null) {
        note.textContent = isLeftOut ? leaveOut.note : '';
      }
    }
  }

  override toDOM(): HTMLElement {
    const { side, buttons, caption, editedNote, leaveOut } = this.style;
    const node = document.createElement('div');
    node.className = `eca-Hunk eca-mod-${side === 'made' ? 'removed' : 'added'}`;
    node.contentEditable = 'false';
    node.dataset.hunk = String(this.hunk.id);
    // With this, the review bar can give the focus to the hunk. The key Tab then leads to its buttons.
    node.tabIndex = -1;
    // Otherwise Lab moves the focus from a button of the hunk into the editor, and takes Enter on it as its own key.
    node.dataset.lmSuppressShortcuts = 'true';
    node.addEventListener('focusin', event => {
      event.stopPropagation();
    });
    // Otherwise Lab gives the focus to the active cell before the key presses the button. The commands of the review
    // still get the key: `commands.ts` listens in the capture phase, which comes before this.
    node.addEventListener('keydown', event => {
      event.stopPropagation();
    });
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', caption);
    const bar = document.createElement('div');
    bar.className = 'eca-Hunk-buttons';
    for (const { label, act } of buttons) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'eca-Hunk-button';
      button.textContent = label;
      button.addEventListener('click', () => {
        act(this.hunk.id);
      });
      bar.append(button);
    }
    if (leaveOut !== undefined) {
      const note = document.createElement('span');
      note.className = 'eca-Hunk-note eca-Hunk-decision';
      note.setAttribute('role', 'status');
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'eca-Hunk-button eca-Hunk-leaveOut';
      button.addEventListener('click', () => {
        leaveOut.act(this.hunk.id, WIDGETS.get(node)?.hunk.isLeftOut !== true);
      });
      bar.append(note, button);
    }
    if (this.hunk.isEdited) {
      const note = document.createElement('span');
      note.className = 'eca-Hunk-note';
      note.textContent = editedNote;
      bar.prepend(note);
    }
    node.append(...(this.hunk.otherText === '' ? [] : [this.createText()]), bar);
    WIDGETS.set(node, this);
    this.showDecision(node);
    return node;
  }

  /** Let the editor ignore all events in the element: its buttons handle them. */
  override ignoreEvent(): boolean {
    return true;
  }

  /** Return the other text as an element, in which the letters that differ are marked. */
  private createText(): HTMLElement {
    const { otherText } = this.hunk;
    const pre = document.createElement('pre');
    // One line break at the beginning or at the end is not shown, because it would look like an empty line.
    const [start, end] = [Number(otherText.startsWith('\n')), otherText.length - Number(/[^]\n$/.test(otherText))];
    let position = start;
    for (const [from, to] of this.changedRanges) {
      const [first, last] = [Math.max(from, position), Math.min(to, end)];
      if (first < last) {
        const part = document.createElement('span');
        part.className = 'eca-Hunk-part';
        part.textContent = toExactText(otherText.slice(first, last));
        pre.append(toExactText(otherText.slice(position, first)), part);
        position = last;
      }
    }
    pre.append(toExactText(otherText.slice(position, end)));
    return pre;
  }
}
